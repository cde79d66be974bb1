// SPDX-License-Identifier: Apache-2.0
// Tests that a lack of memory is reported as a fault of the machine, not of the data.
#include "engine/memory/catch_all.h"

#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "engine/read/file_reader.h"
#include "sources/framing.h"
#include "tests/io/files.h"

namespace forebay::engine {
namespace {

std::string told(const std::optional<Error>& error) {
  if (!error) return "nothing";
  return std::string{to_string(error->code())} + "/" + std::string{to_string(error->detail())} + ": " + error->text();
}

TEST(Guarded, SaysWhatWasThrown) {
  EXPECT_EQ(told(catch_all([] {})), "nothing");
  EXPECT_EQ(told(catch_all([] { throw std::runtime_error{"out of luck"}; })), "internal/none: unexpected: out of luck");
  EXPECT_EQ(told(catch_all([] { throw 42; })), "internal/none: unexpected: an exception that is no std::exception");
  EXPECT_EQ(told(catch_all([] { throw std::bad_alloc{}; })),
            "io/resource_exhausted: the machine has no memory left for this batch; lower `memory`, `prefetch` or the "
            "batch size");
  EXPECT_EQ(told(catch_all([] { throw std::bad_alloc{}; }, no_memory_for_index)),
            "io/resource_exhausted: the machine has no memory left for the index of this file; lower `memory` or use a "
            "shuffle buffer, which needs no index");
}

/// There is no memory for the records.
class Starved final : public Format {
 public:
  Result<Scanned> scan(std::span<const std::byte>, std::int64_t, bool, std::size_t,
                       std::vector<Extent>&) const override {
    throw std::bad_alloc{};
  }
  Result<void> verify(std::span<const Record>) const override { return {}; }
};

TEST(Guarded, AFileThatThereIsNoMemoryToReadIsNamedAndNotBlamed) {
  const tests::Folder folder;
  const std::string path = folder.write("data.tfrecord", std::string(100, 'x'));
  const Source source{{path}, Compression::none, std::make_shared<Starved>()};
  PassCache kept{0};
  FileReader scanner{source, 0, std::make_shared<BufferPool>(1 << 20), kept};
  Block block;
  scanner.scan(block);
  EXPECT_EQ(told(block.error), "io/resource_exhausted: " + path +
                                   ", record 0, byte 0: the machine has no memory left to read this file; lower "
                                   "`memory`, `threads` or `prefetch`");
}

}  // namespace
}  // namespace forebay::engine
