// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <typeindex>
#include <typeinfo>

#include <forebay/loader.h>
#include <forebay/plan.h>

namespace forebay {

/// A pipeline document written in C++: every call takes the options struct of a plug-in (<forebay/plugins.h>). Nothing
/// is checked before `plan`, which finds all faults at once, as for a document from a file.
class Pipeline {
 public:
  /// Sets the decoder.
  template <class Options>
  Pipeline& decode(const Options& options) {
    return set("decode", typeid(Options), &options);
  }
  /// Adds a step, an order or a batcher at the end.
  template <class Options>
  Pipeline& then(const Options& options) {
    return append(typeid(Options), &options);
  }
  Pipeline& epochs(std::optional<std::int64_t> count);  ///< Empty: for ever.
  Pipeline& seed(std::int64_t seed);

  [[nodiscard]] const Json& document() const { return document_; }
  /// Fails with Code::config and all faults. Relative paths are relative to the working directory.
  [[nodiscard]] Result<Plan> plan() const { return Plan::make(document_); }
  /// Plans and starts the pipeline.
  [[nodiscard]] Result<Loader> load(RunOptions options = {}) const { return forebay::load(document_, options); }

 private:
  template <class Source>
  friend Pipeline from(const Source& source);
  Pipeline() : document_{Json::object()} {}
  Pipeline& set(const char* key, std::type_index type, const void* options);
  Pipeline& append(std::type_index type, const void* options);

  Json document_;
};

/// Begins a pipeline at a source:
/// from(TfRecord{.files = {"data/*"}}).decode(ExampleFeatures{…}).then(Slice{…}).then(FixedBatch{.size = 256}).
template <class Source>
[[nodiscard]] Pipeline from(const Source& source) {
  Pipeline out;
  out.set("source", typeid(Source), &source);
  return out;
}

}  // namespace forebay
