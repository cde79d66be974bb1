// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <forebay/batch.h>
#include <forebay/rows.h>
#include <forebay/sources/arrow.h>

// The Arrow C data interface and the Arrow C stream interface, as their public specification declares them. Programs
// that include another declaration of them before this header keep that one.
extern "C" {
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
// NOLINTBEGIN: names and layout are those of the specification
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
// NOLINTEND
#endif
}

namespace forebay {

/// Record batches of Apache Arrow as row blocks.
///
///     ArrowSchema ─ make ─► schema of the rows        ArrowArray ─ read ─► row block that owns the batch
///
/// The producer of the batches vouches for the sizes of its buffers, which the interface does not tell. What the
/// interface does tell (lengths, offsets of arrays, of strings and of lists, dictionary codes) is checked before memory
/// is read. Immutable: any thread may call.
class ArrowReader {
 public:
  /// The columns of a record batch that the options ask for. Structs become tensors `a.b`. Fails with Code::config and
  /// every fault: a column or tensor that is not there, a type that cannot be delivered, a value of `nulls` that does
  /// not fit. `schema` is read only. Dictionaries are delivered as values; `arrow_table` has codes, too.
  /// `projected`: the batches have the columns `fields` only, in that order.
  [[nodiscard]] static Result<ArrowReader> make(const ArrowSchema& schema, const Arrow& options,
                                                bool projected = false);

  [[nodiscard]] const Schema& schema() const;
  [[nodiscard]] const std::vector<std::string>& fields() const;  ///< The columns of the batch that are read.

  /// Whether the columns of batches of this schema have the names and types that `read` takes. Fails with Code::data
  /// and the first column that differs.
  [[nodiscard]] Result<void> check(const ArrowSchema& schema) const;
  /// Takes over a record batch, whose schema is the one that was given or was checked. Fails with Code::data at its
  /// first row that cannot be delivered: a null, offsets that lie outside of the array.
  [[nodiscard]] Result<std::shared_ptr<const RowBlock>> read(ArrowArray& batch) const;

  class Plan;  ///< Of the implementation.
  explicit ArrowReader(std::shared_ptr<const Plan> plan);

 private:
  std::shared_ptr<const Plan> plan_;
};

/// A table in memory: reads a stream to its end, and takes it over. Its rows are shuffled, sharded and restarted as
/// those of arrays. `name` stands for a file name in origins, keys and errors. May wait for the producer of the stream.
///
/// Fails with Code::data and the message of the stream's error.
[[nodiscard]] Result<std::shared_ptr<const RowTable>> arrow_table(ArrowArrayStream& stream, std::string name = "arrow");

struct BatchToArrow {
  /// String tensors that are delivered as text. A string in them that is not UTF-8 is an error. Others are binary.
  std::vector<std::string> utf8 = {};
};

/// A batch as a record batch: a column for each tensor, without a copy of numbers, strings and row splits. Each column
/// shares the memory of its tensor until its consumer releases it; the memory counts against the budget of the run as
/// that of the batch does. Booleans, which are bits there, and the row numbers of sparse tensors are copied.
///
/// Tensors with more axes become fixed-size lists, ragged ones large lists (lists with int32 splits), sparse ones a
/// struct of `indices` and `values` by row. Where a tensor `present(x)` stands beside `x`, it becomes the nulls of `x`.
///
/// Both must be empty structs; the caller releases them. Fails with Code::config, and changes nothing, for a tensor
/// without a batch axis, and for bfloat16 and complex numbers, which Arrow does not have.
[[nodiscard]] Result<void> export_batch(const Batch& batch, ArrowSchema& schema, ArrowArray& array,
                                        const BatchToArrow& options = {});
/// A stream of one record batch; takes over both structs, which come from `export_batch`.
void export_stream(ArrowSchema& schema, ArrowArray& array, ArrowArrayStream& stream);

}  // namespace forebay
