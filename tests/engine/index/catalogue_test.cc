// SPDX-License-Identifier: Apache-2.0
#include "engine/index/published/catalogue.h"

#include <string>

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

TEST(Catalogue, SaysWhatItWasTold) {
  Catalogue told;
  const CatalogueEntry of_version{
      .identity = {.size = 70, .head = 0xf1, .tail = io::FileIdentity::of_version}, .records = 7, .entries = {0, 160}};
  const CatalogueEntry of_ends{.identity = {.size = 9, .modified_ns = -5, .head = ~std::uint64_t{0}, .tail = 3},
                               .records = -1,
                               .entries = {160, 88}};
  told.add("a \"b\"\n.tfrecord", of_version);
  told.add("ü", of_ends);
  const auto read = Catalogue::parse(told.text());
  ASSERT_TRUE(read.ok()) << read.error().text();
  const auto expect_same = [&](const std::string& name, const CatalogueEntry& wanted) {
    const CatalogueEntry* const found = read->find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->identity, wanted.identity);
    EXPECT_EQ(found->records, wanted.records);
    EXPECT_EQ(found->entries.offset, wanted.entries.offset);
    EXPECT_EQ(found->entries.bytes, wanted.entries.bytes);
  };
  expect_same("a \"b\"\n.tfrecord", of_version);
  expect_same("ü", of_ends);
  EXPECT_EQ(read->find("a"), nullptr);
  EXPECT_TRUE(Catalogue::parse(Catalogue{}.text()).ok());
}

TEST(Catalogue, IsRefusedWhereAMemberIsNotWhatItShouldBe) {
  const std::string good = R"("name": "a", "size": 1, "version": "0a", "records": 1, "offset": 0, "bytes": 8)";
  ASSERT_TRUE(Catalogue::parse("{\"files\": [{" + good + "}]}").ok());
  for (const auto& [from, to] : std::initializer_list<std::pair<std::string, std::string>>{
           {R"("name": "a")", R"("name": 1)"},
           {R"("size": 1)", R"("size": -1)"},
           {R"("size": 1)", R"("size": 1.5)"},
           {R"("version": "0a")", R"("version": "0x")"},
           {R"("version": "0a")", R"("version": "")"},
           {R"("version": "0a")", R"("head": "0a")"},
           {R"("records": 1)", R"("records": -2)"},
           {R"("offset": 0)", R"("offset": 4611686018427387904)"},
           {R"("bytes": 8)", R"("bytes": 0)"},
           {R"("bytes": 8)", R"("byte": 8)"}}) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto read = Catalogue::parse("{\"files\": [{" + text + "}]}");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code(), Code::data) << text;
  }
  for (const char* text : {"", "[]", "{}", "{\"files\": {}}", "{\"files\": [1]}", "<html>"})
    EXPECT_FALSE(Catalogue::parse(text).ok()) << text;
}

}  // namespace
}  // namespace forebay::engine
