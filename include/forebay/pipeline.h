// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <typeindex>
#include <typeinfo>

#include <forebay/batchers/batch.h>
#include <forebay/decoders/example.h>
#include <forebay/decoders/record.h>
#include <forebay/decoders/sequence_example.h>
#include <forebay/orders/interleave.h>
#include <forebay/orders/repeat.h>
#include <forebay/orders/shuffle.h>
#include <forebay/orders/skip.h>
#include <forebay/orders/take.h>
#include <forebay/plan.h>
#include <forebay/sources/tfrecord.h>

namespace forebay {

/// A pipeline document written in C++: every call takes the options struct of a plug-in. Nothing is checked before
/// `plan`, which finds all faults at once, as for a document from a file.
class Pipeline {
 public:
  template <class Options>
  Pipeline& decode(const Options& options) {
    return set("decode", typeid(Options), &options);
  }
  /// Adds a step, an order or a batcher behind what is there.
  template <class Options>
  Pipeline& then(const Options& options) {
    return append(typeid(Options), &options);
  }
  Pipeline& epochs(std::optional<std::int64_t> count);  ///< Empty: for ever.
  Pipeline& seed(std::int64_t seed);

  [[nodiscard]] const Json& document() const { return document_; }
  /// Fails with Code::config and all faults. Relative paths are relative to the working directory.
  [[nodiscard]] Result<Plan> plan() const { return Plan::make(document_); }

 private:
  template <class Source>
  friend Pipeline from(const Source& source);
  Pipeline() : document_{Json::object()} {}
  Pipeline& set(const char* key, std::type_index type, const void* options);
  Pipeline& append(std::type_index type, const void* options);

  Json document_;
};

/// Begins a pipeline at a source: from(TfRecord{.files = {"data/*"}}).decode(ExampleFeatures{…}).then(FixedBatch{.size
/// = 256}).
template <class Source>
[[nodiscard]] Pipeline from(const Source& source) {
  Pipeline out;
  out.set("source", typeid(Source), &source);
  return out;
}

}  // namespace forebay
