// SPDX-License-Identifier: Apache-2.0
// How near a run of one thread comes to what the latency of a file system and the number of its requests at once allow.
//
//   ninja bench_requests && ./bench_requests [MiB of data] [milliseconds of latency]
//
// The files lie in the page cache, and a file system of the tests answers each request after the latency. `formula`:
// requests at once × bytes of a request / latency. `bare`: the same ranges asked for in a loop that does nothing with
// them, which shows what this machine's clock and scheduler leave of that. The share is that of the bare loop. The time
// of a run counts from its first batch to its last one.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/core.h>
#include <unistd.h>

#include <forebay/forebay.h>

#include "tests/support/slow_files.h"

namespace {

using namespace forebay;
using tests::SlowFiles;
using Clock = std::chrono::steady_clock;

constexpr double mebibyte = 1048576;

struct Measured {
  double seconds = 0;  // from the first batch on
  std::int64_t rows = 0;
  std::size_t reads = 0;  // after the first batch
};

Measured run(const std::string& path, const std::string& steps) {
  const auto json = parse_json(R"({"source": {"tfrecord": {"files": [")" + SlowFiles::path(path) +
                               R"("]}}, "decode": {"record": {}}, "steps": [)" + steps + "]}");
  auto loader = load(*json, {.threads = 1, .memory = std::int64_t{1} << 30});
  if (!loader.ok()) {
    fmt::print("{}\n", loader.error().text());
    std::exit(1);
  }
  Measured out;
  Clock::time_point first;
  std::size_t before = 0;
  while (true) {
    const auto batch = loader->next();
    if (!batch.ok() || !*batch) break;
    if (first == Clock::time_point{}) {
      first = Clock::now();
      before = SlowFiles::get().reads();
      continue;
    }
    out.rows += (*batch)->rows();
  }
  out.seconds = std::chrono::duration<double>(Clock::now() - first).count();
  out.reads = SlowFiles::get().reads() - before;
  return out;
}

/// The seconds that it takes to ask for ranges of a file and to get them, with nothing else to do.
double bare(const std::string& path, std::int64_t bytes, std::int64_t ranges) {
  SlowFiles& files = SlowFiles::get();
  const io::File::Identity version = SlowFiles::version(path);
  const std::shared_ptr<std::byte> memory{static_cast<std::byte*>(std::malloc(static_cast<std::size_t>(bytes))),
                                          std::free};
  std::atomic<std::int64_t> left{ranges};
  const auto since = Clock::now();
  for (std::int64_t i = 0; i < ranges; ++i) {
    files.read({.path = SlowFiles::path(path),
                .version = version,
                .offset = i * bytes,
                .out = {memory.get(), static_cast<std::size_t>(bytes)},
                .memory = memory},
               [&](const auto&) {
                 if (--left == 0) left.notify_one();
               });
  }
  for (std::int64_t now = left; now > 0; now = left) left.wait(now);
  return std::chrono::duration<double>(Clock::now() - since).count();
}

void print(const char* what, std::size_t at_once, double rate, double formula, double alone) {
  fmt::print("{:<34} {:>8} {:>8.0f} {:>8.0f} {:>8.0f} {:>6.0f}%\n", what, at_once, rate, formula, alone,
             100 * rate / alone);
}

}  // namespace

int main(int count, char** arguments) {
  const std::int64_t size = (count > 1 ? std::atoll(arguments[1]) : 512) << 20;
  const std::chrono::milliseconds latency{count > 2 ? std::atoll(arguments[2]) : 20};
  const double seconds = std::chrono::duration<double>(latency).count();
  const auto folder = std::filesystem::temp_directory_path() / ("forebay_requests_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, std::int64_t record) {
    const std::string path = (folder / name).string();
    const auto done = write_records(path, std::vector<std::string>(static_cast<std::size_t>(size / record),
                                                                   std::string(static_cast<std::size_t>(record), 'x')));
    if (!done.ok()) fmt::print("{}\n", done.error().text());
    return path;
  };
  const std::string small = write("small", 4096);
  const std::string large = write("large", 100'000);
  fmt::print("{:<34} {:>8} {:>8} {:>8} {:>8} {:>7}\n", "one thread, MiB/s", "at once", "run", "formula", "bare",
             "share");
  for (const std::size_t at_once : {4U, 8U, 16U}) {
    SlowFiles::get().behave({.latency = latency, .at_once = at_once});
    const std::int64_t ranges = size >> 20;
    const double alone = static_cast<double>(ranges) / bare(small, std::int64_t{1} << 20, ranges);
    const Measured got = run(small, R"({"batch": {"size": 256}})");
    const double rate = static_cast<double>(got.rows) * 4112 / mebibyte / got.seconds;
    print("in file order, ranges of 1 MiB", at_once, rate, static_cast<double>(at_once) / seconds, alone);
  }
  for (const std::size_t at_once : {4U, 8U, 16U}) {
    SlowFiles::get().behave({.latency = latency, .at_once = at_once});
    constexpr double record = 100'000 / mebibyte;
    const std::int64_t records = size / 100'000;
    const double alone = record * static_cast<double>(records) / bare(large, 100'000, records);
    const Measured got = run(large, R"({"shuffle": {"global": true}}, {"batch": {"size": 16}})");
    print("global shuffle, records of 100 kB", at_once, static_cast<double>(got.reads) * record / got.seconds,
          static_cast<double>(at_once) / seconds * record, alone);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
