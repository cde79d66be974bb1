// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <forebay/json_codec.h>

/// The knobs of a run, and the part of a job that one process takes.
namespace forebay {

class Batch;
class PinnedMemory;
class Plan;

/// How the data is divided among the shards of a job.
enum class ShardBy : std::uint8_t {
  row,      ///< A shard takes its rows of every batch. All shards together have the stream of one process.
  file,     ///< A shard takes every count-th file of a pass, and makes batches of the records in them.
  element,  ///< A shard takes every count-th element of a pass, after all orders, and makes batches of them.
  batch,    ///< A shard takes every count-th batch. All shards in turn give the stream of one process.
};
template <>
struct EnumNames<ShardBy> {
  static constexpr std::array<std::string_view, 4> names{"row", "file", "element", "batch"};
};

/// The part of a job that one process takes: rows index · B / count up to (index + 1) · B / count of every batch of B
/// rows, or every count-th file or element; and then every batch_count-th batch of these.
struct Shard {
  std::int64_t index = 0;
  std::int64_t count = 1;
  ShardBy by = ShardBy::row;     ///< Never `batch`: a shard by batch is in the next two members.
  std::int64_t batch_index = 0;  ///< Takes batches batch_index, batch_index + batch_count, …
  std::int64_t batch_count = 1;
  std::string source = {};  ///< The launcher that "auto" found, such as "torchrun"; empty when the shard was given.
  std::int64_t rank = 0;    ///< The rank that "auto" found, and how many there are; several may take one shard.
  std::int64_t ranks = 1;
};

/// A shard in any form of documents and arguments: null (everything), [index, count], "index/count", "auto", which asks
/// the environment variables of the launcher (torchrun, MPI, SLURM, JAX), or {"index": …, "count": …, "by": "row",
/// "file", "element" or "batch", "replicas": …}. A list of two has one by batch and one that is not:
/// [[0, 4], {"index": 1, "count": 2, "by": "batch"}]. Fails with Code::config.
[[nodiscard]] Result<Shard> parse_shard(const Json& value);

/// One line that says what "auto" picked, for people to see, because a wrong pick goes unnoticed for long: the rank,
/// the launcher, the shard, the batches of the run where stored indexes tell, and the keys of the first records of
/// `first`, which may be null. Empty for a shard that was given.
[[nodiscard]] std::string shard_text(const Plan& plan, const Shard& shard, const Batch* first);

/// A size in bytes: an integer, or text like "512MiB", "1GiB" or "2 GB". Fails with Code::config.
[[nodiscard]] Result<std::int64_t> parse_memory(const Json& value);

/// Knobs of a run. None of them changes what is delivered, or its order.
struct RunOptions {
  /// Workers, at most 1024; 0: one for every CPU that this process may use. One worker rests while a consumer that
  /// always comes back at once does its work.
  std::int64_t threads = 0;
  std::int64_t memory = 0;    ///< Budget in bytes; 0: a quarter of the machine's or container's memory.
  std::int64_t prefetch = 0;  ///< Finished batches that are held ready; 0: chosen by their size.
  /// Rows index · B / count … (index + 1) · B / count of every batch of B rows; B must divide by count. A short last
  /// batch is divided as evenly as it goes, so every shard has the same number of batches. Count 0: the document's.
  std::int64_t shard_index = 0;
  std::int64_t shard_count = 0;
  /// By files, no process reads the files of another: shard i takes files i, i + count, … of the order of every pass,
  /// in batches of B / count rows. All have the same number of batches: of each pass a shard takes as many records as
  /// the one that has fewest (`remainder: drop`), or repeats its own or pads (`repeat`, `pad`; docs/adr/0007).
  ///
  /// By elements, shard i takes elements i, i + count, … of every pass, after all orders, in batches of B / count rows;
  /// all have the same number of batches (docs/adr/0024). By batches, it takes batches i, i + count, …
  ShardBy shard_by = ShardBy::row;
  /// A shard by batch, beside the one above: of its batches, takes number batch_index, batch_index + batch_count, …
  /// Count 0: the document's where `shard_count` is 0, too, else all batches.
  std::int64_t batch_index = 0;
  std::int64_t batch_count = 0;
  /// Folder for indexes and attributes, made if necessary. Empty: `.forebay` beside the data, else the cache folder of
  /// the user (docs/formats/index.md).
  std::string index_dir = {};
  /// Requests to stores (forebay/file_system.h) that are in flight at once for each source, at most 1024; 0: 32.
  std::int64_t requests = 0;
  /// Folder on a disk of this machine, made if necessary, in which parts of files of stores are kept for the next pass,
  /// the next run and the other ranks of the machine (docs/remote.md). Empty: they are fetched anew. It takes
  /// `cache_size` bytes at once, at least 2^16.
  std::string cache_dir = {};
  std::int64_t cache_size = 0;
  /// Spans that Loader::trace keeps, the last ones: a span is a piece of work of a thread, or a wait. They take 40
  /// bytes each beside the budget. At most 2^24; 0: there is no trace.
  std::int64_t trace = 0;
  /// Keeps what Batch::identity needs, also where no step of the plan draws.
  bool row_identities = false;
  /// Memory for the dense tensors of numbers of batches, from which a GPU copies by itself: cuda_pinned_memory
  /// (forebay/staging.h). Null: ordinary memory. It counts against `memory` as that does.
  std::shared_ptr<PinnedMemory> pin_memory = {};

  /// Sets the five members above.
  void take(const Shard& shard) {
    shard_index = shard.index, shard_count = shard.count, shard_by = shard.by;
    batch_index = shard.batch_index, batch_count = shard.batch_count;
  }
};

}  // namespace forebay
