// SPDX-License-Identifier: Apache-2.0
#include <forebay/prometheus.h>

#include <utility>

#include <fmt/core.h>

namespace forebay {

namespace {

/// One name of the text format, https://prometheus.io/docs/instrumenting/exposition_formats.
class Writer {
 public:
  void begin(std::string_view name, std::string_view kind, std::string_view help) {
    name_ = name;
    out_ += fmt::format("# HELP forebay_{} {}\n# TYPE forebay_{} {}\n", name, help, name, kind);
  }
  void value(double value, std::string_view labels = {}) {
    out_ += fmt::format("forebay_{}{}{}{} {}\n", name_, labels.empty() ? "" : "{", labels, labels.empty() ? "" : "}",
                        value);
  }
  void counter(std::string_view name, std::string_view help, double count) {
    begin(name, "counter", help);
    value(count);
  }
  void counter(std::string_view name, std::string_view help, std::int64_t count) {
    counter(name, help, static_cast<double>(count));
  }
  void gauge(std::string_view name, std::string_view help, double now) {
    begin(name, "gauge", help);
    value(now);
  }
  void gauge(std::string_view name, std::string_view help, std::int64_t now) {
    gauge(name, help, static_cast<double>(now));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string_view name_;
  std::string out_;
};

/// A label with the characters escaped that the format escapes.
std::string label(std::string_view name, std::string_view value) {
  std::string out = fmt::format("{}=\"", name);
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

void add_requests(const RequestStats& requests, Writer& out) {
  out.begin("requests_total", "counter", "Requests to file systems, by what they asked for.");
  out.value(static_cast<double>(requests.finds), label("kind", "version"));
  out.value(static_cast<double>(requests.reads), label("kind", "range"));
  out.begin("request_tries_failed_total", "counter", "Tries of requests without success, by cause.");
  out.value(static_cast<double>(requests.refused), label("cause", "refused"));
  out.value(static_cast<double>(requests.failed), label("cause", "failed"));
  out.value(static_cast<double>(requests.broken), label("cause", "broken"));
  out.value(static_cast<double>(requests.stalled), label("cause", "stalled"));
  out.counter("request_hedges_total", "Ranges that were asked for a second time.", requests.hedges);
  out.counter("request_hedges_won_total", "Of these, those whose second answer came first.", requests.hedges_won);
  out.counter("request_bytes_used_total", "Of the ranges.", requests.bytes_used);
  out.counter("request_bytes_cached_total", "From the cache on a local disk.", requests.bytes_cached);
  out.counter("request_bytes_fetched_total", "With those that came twice or for nothing.", requests.bytes_fetched);
  out.counter("request_throttled_seconds_total", "In which requests waited because their host had asked for fewer.",
              requests.throttled_seconds);
}

}  // namespace

std::string prometheus_text(const Stats& stats) {
  Writer out;
  out.counter("batches_total", "Batches delivered.", stats.batches);
  out.counter("rows_total", "Rows delivered.", stats.rows);
  out.counter("records_total", "Records found in the files.", stats.records);
  out.counter("read_bytes_total", "Bytes read from files.", stats.bytes_read);
  out.begin("skipped_total", "counter", "What on_corrupt skipped.");
  out.value(static_cast<double>(stats.skipped_records), label("kind", "records"));
  out.value(static_cast<double>(stats.skipped_ranges), label("kind", "ranges"));
  out.value(static_cast<double>(stats.skipped_files), label("kind", "files"));
  out.counter("ordered_rows_total", "Rows of batches whose order is decided.", stats.ordered_rows);
  out.counter("decoded_rows_total", "Rows made by tickets.", stats.decoded_rows);
  out.counter("skipped_bytes_total", "Bytes of the skipped records, ranges and files.", stats.skipped_bytes);
  out.begin("work_seconds_total", "counter", "Time of the workers, by kind of work.");
  out.value(stats.scan_seconds, label("work", "scan"));
  out.value(stats.order_seconds, label("work", "order"));
  out.value(stats.decode_seconds, label("work", "decode"));
  out.value(stats.idle_seconds, label("work", "idle"));
  out.counter("wait_seconds_total", "Time in which the consumer waited for batches or helped.",
              stats.consumer_wait_seconds);
  out.counter("run_seconds_total", "Time since the first batch was asked for.", stats.seconds);
  out.gauge("waiting_seconds", "How long the consumer has waited for the next batch; 0 when it does not wait.",
            stats.waiting_seconds);
  out.gauge("ready_share", "Mean share of the prefetch depth that was ready.", stats.ready_fill);
  out.gauge("memory_used_bytes", "Charged to the budget now.", stats.memory_used);
  out.gauge("memory_limit_bytes", "The budget.", stats.memory_limit);
  out.gauge("memory_pinned_bytes", "Page-locked now, also to be used again.", stats.memory_pinned);
  out.begin("memory_bytes", "gauge", "Charged to the budget now, by what it is for.");
  out.value(static_cast<double>(stats.scan_memory), label("use", "scan"));
  out.value(static_cast<double>(stats.order_memory), label("use", "order"));
  out.value(static_cast<double>(stats.decode_memory), label("use", "decode"));
  out.gauge("threads", "Workers.", stats.threads);
  out.gauge("requests_in_flight", "Requests to file systems.", stats.requests.in_flight);
  out.gauge("requests_waiting", "Requests that wait for their turn.", stats.requests.waiting);
  add_requests(stats.requests, out);
  out.counter("frames_total", "Delivered in padded tensors, without the padding.", stats.frames);
  out.counter("padded_frames_total", "Delivered in padded tensors, with the padding.", stats.padded_frames);
  if (!stats.steps.empty()) out.begin("step_seconds_total", "counter", "Time of each step, part of the work `decode`.");
  for (const StepSeconds& step : stats.steps) out.value(step.seconds, label("step", step.name));
  if (stats.queues.empty()) return out.take();
  out.begin("queue_held", "gauge", "Elements in a queue or buffer.");
  for (const Fullness& queue : stats.queues) out.value(static_cast<double>(queue.held), label("queue", queue.name));
  out.begin("queue_capacity", "gauge", "Elements that a queue or buffer takes.");
  for (const Fullness& queue : stats.queues) out.value(static_cast<double>(queue.capacity), label("queue", queue.name));
  return out.take();
}

}  // namespace forebay
