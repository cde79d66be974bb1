// SPDX-License-Identifier: Apache-2.0
#include "stats.h"

#include <forebay/prometheus.h>
#include <forebay/usual_resources.h>

#include <string>

#include <nanobind/stl/string.h>

namespace forebay::python {
namespace {

std::string bottleneck_of(const RunStats& stats) {
  return stats.ended && stats.batches == 0 ? "The run has ended and delivered nothing." : stats.bottleneck();
}

/// The text of the core with the last sentence replaced: the core does not know that the run has ended.
std::string text_of(const RunStats& stats) {
  const std::string text = stats.text();
  return text.substr(0, text.size() - stats.bottleneck().size()) + bottleneck_of(stats);
}

nb::object amplification_of(const RunStats& stats) {
  return stats.reading.amplification > 0 ? nb::cast(stats.reading.amplification) : nb::none();
}

nb::object reading_of(const RunStats& stats) { return to_str(stats.reading.text()); }

nb::tuple shard_files_of(const RunStats& stats) {
  return nb::make_tuple(stats.reading.own_files, stats.reading.whole_files);
}

nb::list skipped_of(const RunStats& stats) {
  nb::list out;
  for (const Error& error : stats.skipped) out.append(to_str(error.text()));
  return out;
}

RunStats with_skips(const RunStats& stats, const RunStats& other) {
  RunStats out = stats;
  out.skipped_records += other.skipped_records;
  out.skipped_ranges += other.skipped_ranges;
  out.skipped_files += other.skipped_files;
  out.skipped_bytes += other.skipped_bytes;
  out.skipped.insert(out.skipped.end(), other.skipped.begin(), other.skipped.end());
  return out;
}

nb::list branches_of(const RunStats& stats) {
  nb::list out;
  for (const BranchStats& branch : stats.branches) {
    nb::dict counts;
    counts["rows"] = branch.rows;
    counts["records"] = branch.records;
    counts["bytes_read"] = branch.bytes_read;
    counts["skipped_records"] = branch.skipped_records;
    counts["skipped_ranges"] = branch.skipped_ranges;
    counts["skipped_files"] = branch.skipped_files;
    counts["skipped_bytes"] = branch.skipped_bytes;
    out.append(counts);
  }
  return out;
}

nb::list steps_of(const RunStats& stats) {
  nb::list out;
  for (const StepSeconds& step : stats.steps) out.append(nb::make_tuple(to_str(step.name), step.seconds));
  return out;
}

nb::dict queues_of(const RunStats& stats) {
  nb::dict out;
  for (const Fullness& queue : stats.queues) out[to_str(queue.name)] = nb::make_tuple(queue.held, queue.capacity);
  return out;
}

nb::dict requests_of(const RunStats& stats) {
  nb::dict out;
  for (const auto& [name, value] : stats.requests.named()) {
    const bool whole = !name.ends_with("seconds");
    out[to_str(name)] = whole ? nb::object{nb::int_(static_cast<std::int64_t>(value))} : nb::object{nb::float_(value)};
  }
  return out;
}

}  // namespace

void bind_stats(nb::module_& module) {
  nb::class_<RunStats>(module, "Stats", "Counters of a run; printed, they end in a sentence that names the bottleneck.")
      .def_ro("batches", &Stats::batches, "Delivered.")
      .def_ro("rows", &Stats::rows, "Delivered.")
      .def_ro("records", &Stats::records, "Found in the files.")
      .def_ro("bytes_read", &Stats::bytes_read, "From files.")
      .def_ro("ordered_rows", &Stats::ordered_rows, "Of the batches whose order is decided.")
      .def_ro("decoded_rows", &Stats::decoded_rows, "Made by tickets; their batches may be waiting.")
      .def_ro("row_bytes", &Stats::row_bytes,
              "Of a shard by row, element or batch: bytes of the records of its own rows.")
      .def_prop_ro("read_amplification", &amplification_of, nb::sig("def read_amplification(self) -> float | None"),
                   "bytes_read / row_bytes of such a shard; None where it is not known.")
      .def_prop_ro("shard_reading", &reading_of, nb::sig("def shard_reading(self) -> str"),
                   "How such a shard reads its files, in words: its own records only, or whole files, and why.")
      .def_prop_ro("shard_files", &shard_files_of, nb::sig("def shard_files(self) -> tuple[int, int]"),
                   "Of such a shard: files of which it reads its own records only, and files that it reads whole.")
      .def_ro("skipped_records", &Stats::skipped_records, "Corrupt or malformed records that on_corrupt skipped.")
      .def_ro("skipped_ranges", &Stats::skipped_ranges, "Ranges of bytes in which no record could be found.")
      .def_ro("skipped_files", &Stats::skipped_files, "Files given up at their first corruption.")
      .def_ro("skipped_bytes", &Stats::skipped_bytes, "Of all three.")
      .def_prop_ro("skipped", &skipped_of, nb::sig("def skipped(self) -> list[str]"),
                   "Where and why, the first 16 of them.")
      .def_ro("seconds", &Stats::seconds, "Since the first batch was asked for.")
      .def_ro("scan_seconds", &Stats::scan_seconds, "Worker time finding records, decompression included.")
      .def_ro("order_seconds", &Stats::order_seconds, "Worker time deciding the order.")
      .def_ro("decode_seconds", &Stats::decode_seconds, "Worker time decoding and transforming.")
      .def_prop_ro(
          "steps", &steps_of, nb::sig("def steps(self) -> list[tuple[str, float]]"),
          "Of decode_seconds: each step that a ticket or a finished batch goes through and its seconds, in the "
          "order of the plan.")
      .def_ro("idle_seconds", &Stats::idle_seconds, "Worker time with enough batches ready.")
      .def_ro("consumer_wait_seconds", &Stats::consumer_wait_seconds, "Time in which the consumer waited or helped.")
      .def_ro("ready_fill", &Stats::ready_fill, "Mean share of the prefetch depth that was ready.")
      .def_ro("waiting_seconds", &Stats::waiting_seconds,
              "How long the consumer has waited for the next batch; 0 when it does not wait.")
      .def_ro("waiting", &Stats::waiting,
              "What each thread does meanwhile, in words; empty when the consumer does not wait.")
      .def_ro("memory_used", &Stats::memory_used, "Bytes charged to the budget now.")
      .def_ro("memory_limit", &Stats::memory_limit, "The budget in bytes.")
      .def_ro("memory_pinned", &Stats::memory_pinned,
              "Bytes that are page-locked now (pin_memory), also to be used again.")
      .def_ro("scan_memory", &Stats::scan_memory,
              "Of memory_used: blocks of files, indexes, rows that the program gives.")
      .def_ro("order_memory", &Stats::order_memory, "Of memory_used: what orders, windows and batchers keep.")
      .def_ro("decode_memory", &Stats::decode_memory,
              "Of memory_used: tickets and batches, those that the program holds, too.")
      .def_ro("threads", &Stats::threads, "Workers.")
      .def_ro("frames", &Stats::frames, "Delivered in padded tensors, along their first axis, without the padding.")
      .def_ro("padded_frames", &Stats::padded_frames, "And with it.")
      .def_prop_ro("queues", &queues_of, nb::sig("def queues(self) -> dict[str, tuple[int, int]]"),
                   "How full each queue and buffer is, as (held, capacity): finished batches, the buffers of orders "
                   "when the last batch was decided, feeds.")
      .def_prop_ro(
          "requests_in_flight", [](const RunStats& stats) { return stats.requests.in_flight; },
          nb::sig("def requests_in_flight(self) -> int"), "Requests to file systems, now.")
      .def_prop_ro(
          "requests_waiting", [](const RunStats& stats) { return stats.requests.waiting; },
          nb::sig("def requests_waiting(self) -> int"), "Requests that wait for their turn, now.")
      .def_prop_ro("requests", &requests_of, nb::sig("def requests(self) -> dict[str, float]"),
                   "Requests for files of other machines: finds (for versions), reads (for ranges), bytes_used, "
                   "bytes_cached (from the cache); and of http, https and s3: bytes_fetched, tries without success "
                   "(refused, failed, broken, stalled), hedges, hedges_won, throttled_seconds.")
      .def_prop_ro("branches", &branches_of, nb::sig("def branches(self) -> list[dict[str, int]]"),
                   "Of a combination, for each branch: rows, records, bytes_read, skipped_records, skipped_ranges, "
                   "skipped_files, skipped_bytes.")
      .def("with_skips", &with_skips, nb::arg("other"), nb::sig("def with_skips(self, other: Stats) -> Stats"),
           "The same, and what another run has skipped that makes rows for this one.")
      .def_prop_ro("bottleneck", &bottleneck_of, "The stage that limits the run, in one sentence.")
      .def(
          "prometheus", [](const RunStats& stats) { return to_str(prometheus_text(stats)); },
          nb::sig("def prometheus(self) -> str"), "All numbers in the text format of Prometheus.")
      .def("__str__", &text_of)
      .def("__repr__", &text_of);
  module.def(
      "usual_resources",
      [] {
        const UsualResources usual = usual_resources();
        return nb::make_tuple(usual.threads, usual.memory);
      },
      nb::sig("def usual_resources() -> tuple[int, int]"), "(threads, bytes of memory) of a run that leaves them out.");
}

}  // namespace forebay::python
