// SPDX-License-Identifier: Apache-2.0
#include "run_flags.h"

#include <vector>

#include <fmt/core.h>
#include <forebay/messages.h>

#include "arguments.h"

namespace forebay::cli {

namespace {

Error usage(std::string message) { return Error{Code::config, Detail::invalid_argument, std::move(message)}; }

Result<std::int64_t> read_size(const std::string& flag, const std::string& text) {
  if (text.empty()) return std::int64_t{0};
  const auto bytes = parse_memory(Json{text});
  if (bytes.ok()) return bytes;
  return usage(flag + ": must be a size like 512MiB, 1GiB, 2GB or plain bytes; found " + quote(text));
}

Result<Shard> read_shard(const std::string& flag, const std::string& text) {
  auto shard = parse_shard(Json{text});
  if (shard.ok()) return shard;
  return usage(flag + ": " + shard.error().message());
}

Result<ShardBy> read_by(const std::string& text) {
  std::vector<Error> faults;
  const auto by = JsonCodec<ShardBy>::read(Json{text}.mark({}), faults);
  if (!by) return usage("--shard-by: " + faults.front().message());
  return *by;
}

}  // namespace

void ShardFlags::add_shard_to(CLI::App& verb) {
  verb.add_option("--shard", shard, "I/N: the I-th of N equal parts of every batch; auto: the rank of the launcher")
      ->check(not_empty());
  verb.add_option("--shard-by", shard_by,
                  "row: rows of every batch; file, element: every N-th file or element, in batches of 1/N of the "
                  "document's size; batch: every N-th batch")
      ->check(not_empty());
  verb.add_option("--batch-shard", batch_shard, "I/N: every N-th batch of the shard, from the I-th on")
      ->check(not_empty());
  verb.add_option("--index-dir", index_dir, "Folder for indexes; left out: .forebay beside the data")
      ->check(not_empty());
}

Result<Shard> ShardFlags::chosen(const Plan& plan) const {
  Shard out = plan.shard();
  if (!shard.empty()) {
    FOREBAY_TRY(out, read_shard("--shard", shard));
  }
  if (!shard_by.empty()) {
    FOREBAY_TRY(out.by, read_by(shard_by));
  }
  if (batch_shard.empty()) return out;
  FOREBAY_TRY(const Shard every, read_shard("--batch-shard", batch_shard));
  if (out.batch_count > 1 || out.by == ShardBy::batch)
    return usage("--batch-shard: the shard is by batch; give one of them");
  out.batch_index = every.index;
  out.batch_count = every.count;
  return out;
}

Result<ShardReading> ShardFlags::reading(const Plan& plan) const {
  FOREBAY_TRY(const Shard taken, chosen(plan));
  RunOptions options{.index_dir = index_dir};
  options.take(taken);
  return shard_reading(plan, options);
}

Json reading_json(const ShardReading& reading) {
  Json out = Json::object();
  out.set("own_files", reading.own_files);
  out.set("whole_files", reading.whole_files);
  out.set("reason", reading.reason.empty() ? Json{} : Json{reading.reason});
  out.set("amplification", reading.amplification > 0 ? Json{reading.amplification} : Json{});
  return out;
}

CLI::Option* standard_input(CLI::Option* document) {
  return document->transform([](const std::string& name) { return name == "-" ? std::string{"/dev/stdin"} : name; });
}

void RunFlags::add_to(CLI::App& verb) {
  standard_input(verb.add_option("DOC", document, "Loader or pipeline document (JSON); -: standard input"))->required();
  verb.add_option("--threads", threads, "Worker threads; 0: one for every CPU")->check(whole_number(0, 1024));
  verb.add_option("--memory", memory, "Memory budget: 512MiB, 1GiB, 2GB or plain bytes; 0: a quarter of the machine's")
      ->check(not_empty());
  verb.add_option("--prefetch", prefetch, "Batches made ahead; 0: chosen by their size")->check(whole_number(0));
  verb.add_option("--requests", requests, "Requests to other machines in flight at once for each source; 0: 32")
      ->check(whole_number(0, 1024));
  verb.add_option("--cache-dir", cache_dir, "Folder in which parts of files of other machines are kept")
      ->check(not_empty());
  verb.add_option("--cache-size", cache_size, "What it may take: 200GB, 512MiB or plain bytes")->check(not_empty());
  add_shard_to(verb);
}

Result<Loader> RunFlags::start(RunOptions options) const {
  FOREBAY_TRY(const std::int64_t bytes, read_size("--memory", memory));
  if (!plan_) {
    FOREBAY_TRY(Plan planned, Plan::load(document));
    plan_ = std::move(planned);
  }
  Plan plan = *plan_;
  FOREBAY_TRY(const Shard taken, chosen(plan));
  options.threads = threads, options.memory = bytes, options.prefetch = prefetch, options.index_dir = index_dir;
  options.requests = requests, options.cache_dir = cache_dir;
  FOREBAY_TRY(options.cache_size, read_size("--cache-size", cache_size));
  options.take(taken);
  auto pipeline = Loader::start(std::move(plan), options);
  if (pipeline.ok() && !taken.source.empty()) picked_ = taken;
  return pipeline;
}

void RunFlags::announce(Loader& pipeline, const Batch* first) const {
  for (std::string notice; !(notice = pipeline.take_notice()).empty();) fmt::print(stderr, "forebay: {}\n", notice);
  if (!picked_) return;
  fmt::print(stderr, "forebay: {}\n", shard_text(pipeline.plan(), *picked_, first));
  picked_.reset();
}

}  // namespace forebay::cli
