// SPDX-License-Identifier: Apache-2.0
// How near a run of one thread comes to what the latency of a file system and the number of its requests at once allow.
//
//   ninja bench_requests && ./bench_requests [MiB of data] [milliseconds of latency]
//
// The files lie in the page cache, and a file system of the tests answers each request after the latency. `possible`:
// requests at once × bytes of a request / latency. The time counts from the first batch to the last one.
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
  std::size_t reads = 0;
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
  fmt::print("{:<34} {:>8} {:>10} {:>10} {:>7}\n", "one thread", "at once", "MiB/s", "possible", "share");
  for (const std::size_t at_once : {4U, 8U, 16U}) {
    SlowFiles::get().behave({.latency = latency, .at_once = at_once});
    const Measured got = run(small, R"({"batch": {"size": 256}})");
    const double rate = static_cast<double>(got.rows) * 4112 / mebibyte / got.seconds;
    const double possible = static_cast<double>(at_once) / seconds;
    fmt::print("{:<34} {:>8} {:>10.0f} {:>10.0f} {:>6.0f}%\n", "in file order, ranges of 1 MiB", at_once, rate,
               possible, 100 * rate / possible);
  }
  for (const std::size_t at_once : {4U, 8U, 16U}) {
    SlowFiles::get().behave({.latency = latency, .at_once = at_once});
    const Measured got = run(large, R"({"shuffle": {"global": true}}, {"batch": {"size": 16}})");
    const double rate = static_cast<double>(got.rows) * 100'000 / mebibyte / got.seconds;
    const double possible = static_cast<double>(at_once) / seconds * 100'000 / mebibyte;
    fmt::print("{:<34} {:>8} {:>10.0f} {:>10.0f} {:>6.0f}%  ({} requests)\n", "global shuffle, records of 100 kB",
               at_once, rate, possible, 100 * rate / possible, got.reads);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
