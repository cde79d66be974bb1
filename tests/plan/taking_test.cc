// SPDX-License-Identifier: Apache-2.0
#include "plan/bind/taking.h"

#include <gtest/gtest.h>

namespace forebay::plan {
namespace {

TEST(PackWindows, SplitsOfTheRecordsOfAWindowAreRefused) {
  Schema schema;
  const ColumnId x = schema.put({.name = "x", .dtype = DType::int64, .shape = {unknown_dim}});
  engine::Windows windows;
  windows.windowing.keys = windows.windowing.made = {x};
  windows.windowing.generated.push_back(
      {.kind = Generated::cu_seqlens, .column = schema.put(generated_spec(Generated::cu_seqlens, "at"))});
  Batching batching;
  batching.packs = {x};
  engine::Taking taking;
  const auto done = pack_windows(batching, windows, taking, schema);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message(),
            "'at' says where the records of one window lie, and a batcher that packs puts several windows in a row; "
            "leave `splits` out");
}

}  // namespace
}  // namespace forebay::plan
