// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <forebay/describe.h>
#include <forebay/scalar.h>

namespace forebay {

// ---------------------------------------------------------------- combinations: several branches → one stream of rows

/// The branches of a combination, as documents: {"source", "decode", "steps", "repeat", "on_corrupt"}. The planner
/// reads them.
class Branches {
 public:
  Branches() = default;
  Branches(std::initializer_list<Json> branches) : json_{Json::array(branches)} {}
  explicit Branches(Json json) : json_{std::move(json)} {}
  [[nodiscard]] const Json& json() const { return json_; }  ///< A list of objects.

 private:
  Json json_ = Json::array();
};

template <>
struct JsonCodec<Branches> {
  static constexpr FieldKind kind = FieldKind::branches;
  static std::optional<Branches> read(const Json& json, std::vector<Error>& faults) {
    if (!json.is(Json::Kind::array)) return fault_type(json, "a list of branches", faults), std::nullopt;
    return Branches{json};
  }
  static Json write(const Branches& value) { return value.json(); }
  static Json schema() {
    Json out = Json::object({{"type", "array"}});
    out.set("items", Json::object({{"type", "object"}}));
    return out;
  }
  static std::string python_type() { return "list[dict[str, object]]"; }
};

/// When a pass of a combination ends.
struct PassEnd {
  enum class When : std::uint8_t {
    first,  ///< When the first branch without `repeat` has no row left for its turn.
    all,    ///< When every branch has come to the end of an epoch.
    rows,   ///< After `rows` rows, or when no branch has any left.
    equal,  ///< Side by side: when all branches end at the same row. Another length is an error.
  };
  When when = When::first;
  std::int64_t rows = 0;
};

/// Decides which branch gives the next row. The engine owns it; one thread at a time calls it.
///
///     begin(pass) ─► next ─► next ─► … ─► begin(next pass)
class Combiner {
 public:
  virtual ~Combiner() = default;
  /// Begins pass `pass` of the combination. Called before the first `next`.
  virtual void begin(std::int64_t pass) = 0;
  /// Whether the branch is left out of the pass: it gives no row and counts as one that has ended.
  [[nodiscard]] virtual bool leaves_out([[maybe_unused]] std::size_t branch) const { return false; }
  /// The branch of the next row: one of those that are `open` and not left out, of which there is at least one. When
  /// that branch turns out to have no row left, it is closed and the call is repeated.
  [[nodiscard]] virtual std::size_t next(const std::vector<bool>& open) = 0;
  /// Stands for as many of the next `n` calls of `next` as it can, while each branch gives at most `left` rows; `left`
  /// is 0 for a branch that is not open. Adds to `counts`, which are 0, how many rows each branch gave, and returns the
  /// number of calls. This one stands for none; a combiner that knows a row by its number answers from that.
  [[nodiscard]] virtual std::int64_t pass_over([[maybe_unused]] std::int64_t n,
                                               [[maybe_unused]] const std::vector<bool>& open,
                                               [[maybe_unused]] std::span<const std::int64_t> left,
                                               [[maybe_unused]] std::span<std::int64_t> counts) {
    return 0;
  }
};

/// The arguments of a combiner's constructor.
struct CombineContext {
  std::uint64_t seed = 0;
  std::uint64_t purpose = 0;  ///< Part of every draw; differs from that of the orders.
  std::size_t branches = 0;
};

/// What a combination is told about its branches when it is bound.
struct BranchList {
  std::vector<bool> repeat;  ///< By branch: it begins its next epoch by itself.
};

/// A bound combination: makes the running combiner. Immutable; any thread may call.
struct Combining {
  std::function<std::unique_ptr<Combiner>(const CombineContext&)> make;  ///< Unset: row i of every branch side by side.
  PassEnd end;
  std::vector<std::pair<std::string, Scalar>> fill = {};  ///< By tensor: the value where a branch lacks it.
  bool leaves_out = false;                                ///< Combiner::leaves_out may be true.
  /// A hash of what CombineType::by_pass says about pass `last` and all before it; unset: nothing changes from pass to
  /// pass.
  std::function<std::uint64_t(std::int64_t last)> passes = {};
};

/// A combination plug-in: its description, and the function that checks its options and binds them.
struct CombineType {
  Description description;
  /// Options that a restart may change, if it is told so: Loader::restore.
  std::vector<std::string> may_change = {};
  /// The one of them that says what holds from which pass on; empty: none. A run may go on where it differs for later
  /// passes.
  std::string by_pass = {};
  /// The name of the method by which rows are drawn; another one gives other rows of the same document, so states of
  /// before are refused. Empty: nothing is drawn.
  std::string draws = {};
  std::function<Result<Combining>(const Json& options, const BranchList& branches)> bind;
  template <class Options>
  using Bind = Result<Combining> (*)(const Options&, const BranchList&);
};

}  // namespace forebay
