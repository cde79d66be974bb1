// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include <forebay/loader.h>

namespace forebay {

namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

std::string ShardReading::text() const {
  std::string out;
  if (own_files > 0) out = fmt::format("{} {}: own records only", own_files, own_files == 1 ? "file" : "files");
  if (whole_files > 0) {
    out += fmt::format("{}{} {}: read whole ({})", out.empty() ? "" : ", ", whole_files,
                       whole_files == 1 ? "file" : "files", reason);
  }
  if (!out.empty() && amplification > 0)
    out += fmt::format("; {:.2f} bytes read for each byte of own rows", amplification);
  return out;
}

std::string Stats::bottleneck() const {
  if (batches == 0) return "Nothing was delivered yet.";
  const double busy = scan_seconds + order_seconds + decode_seconds;
  const double waited = share(consumer_wait_seconds, seconds);
  if (waited < 0.1) {
    return fmt::format(
        "The consumer is the bottleneck: it waited for batches {:.0f} % of the time, and {:.0f} % of the prefetch was "
        "ready.",
        100 * waited, 100 * std::min(1.0, ready_fill));
  }
  using Stage = std::pair<double, std::string_view>;
  const Stage most = std::max({Stage{scan_seconds, "finding records (reading and decompressing ahead)"},
                               Stage{order_seconds, "deciding the order (including files that were not read ahead)"},
                               Stage{decode_seconds, "checking and decoding records"}});
  return fmt::format(
      "The input is the bottleneck: the consumer waited {:.0f} % of the time; {:.0f} % of the work was {}.{}",
      100 * waited, 100 * share(most.first, busy), most.second, requests.clause(seconds));
}

std::string Stats::skipped_text() const {
  if (skipped_records + skipped_ranges + skipped_files == 0) return {};
  return fmt::format("skipped: {} records, {} unreadable ranges, {} files ({} bytes); the first: {}", skipped_records,
                     skipped_ranges, skipped_files, skipped_bytes, skipped.front().text());
}

std::string Stats::queues_text() const {
  std::string out;
  for (const Fullness& queue : queues)
    out += fmt::format("{}{} {} of {}", out.empty() ? "" : ", ", queue.name, queue.held, queue.capacity);
  if (requests.in_flight + requests.waiting > 0)
    out += fmt::format("{}requests {} in flight, {} waiting", out.empty() ? "" : ", ", requests.in_flight,
                       requests.waiting);
  return out;
}

std::string Stats::text() const {
  const double per_second = share(1, seconds);
  std::string out =
      fmt::format("{} batches, {} rows in {:.2f} s: {:.0f} rows/s, {:.1f} MB/s read\n", batches, rows, seconds,
                  static_cast<double>(rows) * per_second, static_cast<double>(bytes_read) * per_second * 1e-6);
  const double workers = seconds * static_cast<double>(threads);
  out += fmt::format("{} threads: scan {:.0f} %, order {:.0f} %, decode {:.0f} %, idle {:.0f} %\n", threads,
                     100 * share(scan_seconds, workers), 100 * share(order_seconds, workers),
                     100 * share(decode_seconds, workers), 100 * share(idle_seconds, workers));
  if (padded_frames > 0)
    out += fmt::format("padding {:.1f} % of {} frames\n",
                       100 * share(static_cast<double>(padded_frames - frames), static_cast<double>(padded_frames)),
                       padded_frames);
  out += fmt::format("memory {:.1f} of {:.0f} MiB", static_cast<double>(memory_used) / 1048576,
                     static_cast<double>(memory_limit) / 1048576);
  if (memory_pinned > 0) out += fmt::format(", page-locked {:.1f} MiB", static_cast<double>(memory_pinned) / 1048576);
  out += "\n";
  if (const std::string full = queues_text(); !full.empty()) out += "full: " + full + "\n";
  if (const std::string asked = requests.text(); !asked.empty()) out += "requests: " + asked + "\n";
  if (const std::string read = reading.text(); !read.empty()) out += "shard: " + read + "\n";
  for (std::size_t i = 0; i < branches.size(); ++i)
    out += fmt::format("branch {}: {} rows, {} records found\n", i, branches[i].rows, branches[i].records);
  if (const std::string text = skipped_text(); !text.empty()) out += text + "\n";
  return out + bottleneck();
}

}  // namespace forebay
