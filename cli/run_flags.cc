// SPDX-License-Identifier: Apache-2.0
#include "run_flags.h"

#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "config/utf8.h"
#include "plan/pipeline_document.h"

namespace forebay::cli {

namespace {

Error usage(std::string message) { return Error{Code::config, Detail::invalid_argument, std::move(message)}; }

Result<std::int64_t> read_size(const std::string& text) {
  if (text.empty()) return std::int64_t{0};
  std::vector<Error> faults;
  const Json json{text};
  const std::int64_t bytes = plan::read_memory(&json, faults);
  if (!faults.empty())
    return usage("--memory: must be a size like 512MiB, 1GiB, 2GB or plain bytes; found " + config::quoted(text));
  return bytes;
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<void> check_shard(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto index = whole(std::string_view{text}.substr(0, slash));
  const auto count = whole(std::string_view{text}.substr(std::min(slash + 1, text.size())));
  if (!index || !count || *index < 0 || *index >= *count) {
    return usage("--shard: must be I/N with I from 0 to N - 1, as 0/4; found " + config::quoted(text));
  }
  return usage("--shard: sharding is not available yet");
}

}  // namespace

void RunFlags::add_to(CLI::App& verb) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  verb.add_option("CONFIG", document, "Loader or pipeline document (JSON)")->required();
  verb.add_option("--threads", threads, "Worker threads; 0: one for every CPU")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1024}));
  verb.add_option("--memory", memory, "Memory budget: 512MiB, 1GiB, 2GB or plain bytes; 0: a quarter of the machine's");
  verb.add_option("--prefetch", prefetch, "Finished batches kept ready; 0: chosen by their size")
      ->check(CLI::Range(std::int64_t{0}, any));
  verb.add_option("--shard", shard, "I/N: the I-th of N equal parts (not available yet)");
}

Result<Pipeline> RunFlags::start() const {
  FOREBAY_DO(check_shard(shard));
  FOREBAY_TRY(const std::int64_t bytes, read_size(memory));
  return open(document, {.threads = threads, .memory = bytes, .prefetch = prefetch});
}

}  // namespace forebay::cli
