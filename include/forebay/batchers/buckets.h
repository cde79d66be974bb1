// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <forebay/batchers/batch.h>
#include <forebay/field_types.h>

namespace forebay {

/// What becomes of sequences that are longer than the last boundary.
enum class Longer : std::uint8_t {
  fail,    ///< The first one is an error.
  drop,    ///< They are left out.
  bucket,  ///< They have a bucket of their own.
};

/// What becomes of buckets that are not full at the end.
enum class BucketRest : std::uint8_t {
  keep,  ///< They are delivered short.
  drop,  ///< They are left out.
};

/// Batches of sequences of similar length. Each sequence goes into the first bucket whose boundary is not below its
/// length; a full bucket is a batch.
struct Buckets {
  TensorName key;                           ///< Tensor whose first size is the length.
  std::vector<std::int64_t> boundaries;     ///< The largest length of each bucket, ascending.
  std::vector<std::int64_t> sizes;          ///< Rows of a batch of each bucket; one number: of all.
  Longer longer = Longer::fail;             ///< Handling of sequences that are longer than the last boundary.
  BucketRest remainder = BucketRest::keep;  ///< Handling of buckets that are not full at the end.
  double random_bucket = 0;                 ///< Probability of a random one of the buckets that a sequence fits.
  bool seq_idx = false;                     ///< Number the sequences of each pass.
  bool epoch_end = false;                   ///< End each epoch with an empty row.
  Pad pad = true;
};

}  // namespace forebay
