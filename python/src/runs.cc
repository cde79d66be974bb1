// SPDX-License-Identifier: Apache-2.0
#include "runs.h"

#include <bit>
#include <memory>
#include <optional>

#include <forebay/loader.h>
#include <forebay/plugins.h>
#include <forebay/stall_notice.h>
#include <forebay/state.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "batches.h"
#include "counts.h"
#include "documents.h"
#include "interpreter.h"
#include "plans.h"
#include "rows.h"
#include "staging.h"
#include "stats.h"

namespace forebay::python {
namespace {

/// A pipeline that Python holds.
class Run {
 public:
  Run(Loader pipeline, Shard shard, std::string index_dir)
      : pipeline_{std::move(pipeline)},
        layout_{std::make_shared<Layout>(pipeline_->plan())},
        shard_{std::move(shard)},
        index_dir_{std::move(index_dir)} {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    const Unlocked joining;
    pipeline_.reset();
  }

  /// `call` with a timeout, again and again until it does not time out. Lets signals in between.
  template <class Call>
  auto wait(Call call) {
    const Turn turn{busy_};
    while (true) {
      bool timed_out = false;
      auto result = [&] {
        const Unlocked waiting;
        return call(timed_out);
      }();
      if (!timed_out) return stall_.delivered(), result;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      const auto notice = stall_.look(*pipeline_);
      if (notice && PyErr_WarnEx(PyExc_RuntimeWarning, notice->c_str(), 1) != 0) throw nb::python_error();
    }
  }

  /// The next batch, which stays the next one until `take`, or until it is asked for with `taken`. Throws StopIteration
  /// at the end.
  PyBatch advance(bool taken) {
    if (taken) take();
    return given(wait([&](bool& timed_out) { return pipeline_->peek_within(timeout, timed_out); }));
  }

  PyBatch next() {
    PyBatch batch = advance(false);
    take();
    return batch;
  }

  void take() { pipeline_->take(); }

  /// The batch as a Python object. Throws StopIteration without one.
  PyBatch given(Result<std::optional<Batch>> batch) {
    const Batch* const found = batch.ok() && *batch ? &**batch : nullptr;
    if (!announced_) announce(found);
    if (!found || std::has_single_bit(++given_)) tell_notices();
    std::optional<Batch> ready = value_of(std::move(batch));
    ended_ = !ready;
    if (!ready) throw nb::stop_iteration();
    return PyBatch{*std::move(ready), layout_};
  }

  void close() {
    const Unlocked joining;
    pipeline_->close();
  }

  /// After the last batch that was taken.
  [[nodiscard]] std::string state() const {
    auto state = [&] {
      const Unlocked inspecting;
      return pipeline_->state();
    }();
    return value_of(std::move(state)).text();
  }

  /// The same at a position, which is JSON text.
  [[nodiscard]] std::string state_at(const std::string& position) const {
    auto state = [&]() -> Result<Json> {
      const Unlocked inspecting;
      FOREBAY_TRY(const Json at, parse_state(position));
      return pipeline_->state_at(at);
    }();
    return value_of(std::move(state)).text();
  }
  [[nodiscard]] std::string position() const { return value_of(pipeline_->position()).text(); }

  /// Returns the notice of the restart.
  std::string restore(const std::string& text, const std::vector<std::string>& accept) {
    const Turn turn{busy_};
    value_of([&]() -> Result<void> {
      const Unlocked restarting;
      FOREBAY_TRY(const Json state, parse_state(text));
      return pipeline_->restore(state, accept);
    }());
    ended_ = false;
    return pipeline_->notice();
  }

  void begin_anew() {
    const Turn turn{busy_};
    value_of([&] {
      const Unlocked restarting;
      return pipeline_->begin_anew();
    }());
    ended_ = false;
  }

  void seek(std::int64_t number) {
    const Turn turn{busy_};
    const auto interrupted = [] {
      const nb::gil_scoped_acquire held;
      return PyErr_CheckSignals() != 0;
    };
    const auto found = [&] {
      const Unlocked seeking;
      return pipeline_->seek(number, interrupted);
    }();
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    value_of(found);
    ended_ = false;
  }

  void end() { ended_ = true; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const Loader& pipeline() const { return *pipeline_; }
  [[nodiscard]] Epochs epochs() { return pipeline_->epochs(); }
  [[nodiscard]] const Shard& shard() const { return shard_; }
  [[nodiscard]] const std::string& index_dir() const { return index_dir_; }

 private:
  /// `busy_` is only touched with the interpreter's lock.
  struct Turn {
    explicit Turn(bool& flag) : busy{flag} {
      if (busy)
        raise(Error{Code::state, Detail::failed_precondition,
                    "the next batch is already being waited for in another thread"});
      busy = true;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { busy = false; }
    bool& busy;
  };

  static void tell(const char* how, const std::string& line) {
    nb::module_::import_("forebay._notices").attr(how)(to_str(line));
  }
  /// Tells which shard "auto" picked.
  void announce(const Batch* first) {
    announced_ = true;
    if (const auto picked = shard_text(pipeline_->plan(), shard_, first); !picked.empty()) tell("inform", picked);
  }
  /// At batches 1, 2, 4, 8, … and at the end: a look at each would cost every batch a lock.
  void tell_notices() {
    for (std::string line; !(line = pipeline_->take_notice()).empty();) tell("warn", line);
  }

  std::optional<Loader> pipeline_;
  std::shared_ptr<const Layout> layout_;
  Shard shard_;
  std::string index_dir_;
  StallNotice stall_;
  std::uint64_t given_ = 0;  // batches
  bool announced_ = false, ended_ = false, busy_ = false;
};

/// A loop over the epochs of a run, which outlives it.
class RunEpochs {
 public:
  explicit RunEpochs(Run& run) : run_{run}, epochs_{run.epochs()} {}

  /// The number of the next epoch; StopIteration after the last one.
  std::int64_t next() {
    const auto number = value_of(run_.wait([&](bool& timed_out) { return epochs_.next_within(timeout, timed_out); }));
    if (!number) {
      if (given_ == used_up_) run_.end();  // else batches of the last epoch are left
      throw nb::stop_iteration();
    }
    given_ = number;
    return *number;
  }

  PyBatch advance(std::int64_t number, bool taken) {
    if (taken) run_.take();
    auto batch = run_.wait([&](bool& timed_out) { return epochs_.peek_within(number, timeout, timed_out); });
    if (batch.ok() && !*batch) {  // the end of the epoch, not of the run
      used_up_ = number;
      throw nb::stop_iteration();
    }
    return run_.given(std::move(batch));
  }

 private:
  Run& run_;
  Epochs epochs_;
  std::optional<std::int64_t> given_, used_up_;  // the last epoch that was given, and that of which the end was told
};

Plan plan_path(const nb::str& name, const nb::dict& bound) {
  const std::string path = from_str(name);
  const Bindings bindings = bindings_of(bound);
  auto plan = [&] {
    const Unlocked reading;
    return Plan::load(path, bindings);
  }();
  return value_of(std::move(plan));
}

Plan plan_document(nb::handle document, const std::string& folder, const nb::dict& bound) {
  const Json json = to_json(document);
  const Bindings bindings = bindings_of(bound);
  auto plan = [&] {
    const Unlocked reading;
    return Plan::make(json, folder, bindings);
  }();
  return value_of(std::move(plan));
}

std::unique_ptr<Run> start(const Plan& plan, std::int64_t threads, nb::handle memory, std::int64_t prefetch,
                           nb::handle shard, const nb::str& folder, const PyPinned* pinned, bool row_identities,
                           std::int64_t requests, const nb::str& cache_dir, nb::handle cache_size) {
  const std::string index_dir = from_str(folder);
  RunOptions options{.threads = threads,
                     .memory = memory_of(memory),
                     .prefetch = prefetch,
                     .index_dir = index_dir,
                     .requests = requests,
                     .cache_dir = from_str(cache_dir),
                     .cache_size = cache_size_of(cache_size),
                     .row_identities = row_identities,
                     .pin_memory = pinned == nullptr ? nullptr : pinned->memory};
  const Shard chosen = shard.is_none() ? plan.shard() : shard_of(shard);
  options.take(chosen);
  auto pipeline = [&] {
    const Unlocked starting;
    return Loader::start(plan, options);
  }();
  return std::make_unique<Run>(value_of(std::move(pipeline)), chosen, index_dir);
}

}  // namespace

void bind_runs(nb::module_& module) {
  bind_plan(module);
  bind_stats(module);
  nb::class_<RunEpochs>(module, "RunEpochs", "A loop over the epochs of a run.")
      .def("next", &RunEpochs::next, "The number of the next epoch; StopIteration after the last one.")
      .def("advance", &RunEpochs::advance, nb::arg("number"), nb::arg("taken"),
           "As Run.advance, within the epoch of that number; StopIteration at its end.");
  nb::class_<Run>(module, "Run", "A running plan.")
      .def("next", &Run::next, "The next batch; StopIteration at the end.")
      .def(
          "advance", &Run::advance, nb::arg("taken"),
          "The next batch, which stays the next one until it is taken; StopIteration at the end. `taken`: take the one "
          "of the last call first.")
      .def("take", &Run::take, "Counts the batch of the last `advance` as given.")
      .def(
          "epochs", [](Run& run) { return std::make_unique<RunEpochs>(run); }, nb::keep_alive<0, 1>(),
          "A loop over the epochs from here on.")
      .def_prop_ro("ended", &Run::ended, "Whether the consumer has been told the end of the run.")
      .def("close", &Run::close)
      .def("state", &Run::state, "The state after the last batch that was taken, as JSON text.")
      .def("state_at", &Run::state_at, nb::arg("position"), "The state at a position, as JSON text.")
      .def("position", &Run::position, "Where the run stands, as JSON text; no file is asked.")
      .def("restore", &Run::restore, nb::arg("state"), nb::arg("accept") = nb::make_tuple())
      .def("begin_anew", &Run::begin_anew, "Goes back to the beginning.")
      .def("seek", &Run::seek, nb::arg("number"), "Goes to a batch by its number.")
      .def_prop_ro("plan", [](const Run& run) { return run.pipeline().plan(); })
      .def_prop_ro(
          "shard",
          [](const Run& run) {
            const Shard& shard = run.shard();
            std::string by{EnumNames<ShardBy>::names[static_cast<std::size_t>(shard.by)]};
            if (shard.batch_count > 1) by = shard.count > 1 ? by + " and batch" : "batch";
            return nb::make_tuple(shard.index * shard.batch_count + shard.batch_index, shard.count * shard.batch_count,
                                  by);
          },
          nb::sig("def shard(self) -> tuple[int, int, str]"), "(index, count, by) of the shard of this run.")
      .def_prop_ro(
          "length", [](const Run& run) { return run.pipeline().length(); },
          "Batches of the whole run of this shard; None: not known before reading.")
      .def_prop_ro(
          "known", [](const Run& run) { return run.pipeline().plan().batches(); },
          "Batches of the whole run of all shards; None: not known before reading.")
      .def(
          "count",
          [](const Run& run, std::optional<std::int64_t> epochs) {
            return count(run.pipeline().plan(), {.epochs = epochs, .shard = run.shard(), .index_dir = run.index_dir()});
          },
          nb::arg("epochs").none(),
          "Batches of the whole run of this shard, or of its first epochs, counted if necessary; None: an endless run, "
          "or counting needs decoding.")
      .def(
          "own", [](const Run& run, std::int64_t batches) { return own_of(run.shard(), batches); }, nb::arg("batches"),
          "How many of the first batches of all shards are those of this one.")
      .def_prop_ro("stats",
                   [](const Run& run) {
                     return RunStats{run.pipeline().stats(), run.ended()};
                   })
      .def_prop_ro("complete_frac", [](const Run& run) { return run.pipeline().complete_frac(); });
  module.def("plan_path", &plan_path, nb::arg("path"), nb::arg("bindings"),
             nb::sig("def plan_path(path: str, bindings: dict[str, Rows | Table | Function]) -> Plan"));
  module.def(
      "plan_document", &plan_document, nb::arg("document"), nb::arg("folder"), nb::arg("bindings"),
      nb::sig(
          "def plan_document(document: object, folder: str, bindings: dict[str, Rows | Table | Function]) -> Plan"));
  module.def("memory_bytes", &memory_of, nb::arg("memory"), nb::sig("def memory_bytes(memory: int | str) -> int"),
             "The bytes of a budget, as `load` takes it.");
  module.def("start", &start, nb::arg("plan"), nb::arg("threads"), nb::arg("memory"), nb::arg("prefetch"),
             nb::arg("shard").none(), nb::arg("index_dir"), nb::arg("pinned").none(), nb::arg("row_identities"),
             nb::arg("requests"), nb::arg("cache_dir"), nb::arg("cache_size"),
             nb::sig("def start(plan: Plan, threads: int, memory: int | str, prefetch: int, shard: object | None, "
                     "index_dir: str, pinned: PinnedMemory | None, row_identities: bool, requests: int, cache_dir: "
                     "str, cache_size: int | str) -> Run"));
}

}  // namespace forebay::python
