// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/windows/cutters.h"

namespace forebay {
namespace {

using testing::bound;
using testing::cut_all;
using ::testing::ElementsAre;
using testing::fault;
using ::testing::HasSubstr;
using testing::texts_of;

TEST(Unbatch, EveryFrameIsAWindowAndAnEmptyRecordHasNone) {
  EXPECT_THAT(texts_of(cut_all(bound(windows::unbatch(), "{}", {"x"}), {.values = {3, 0, 1}})),
              ElementsAre("0:0+1", "0:1+1", "0:2+1", "2:0+1"));
}

TEST(Unbatch, AllKeysShareTheWindows) {
  const Windowing windowing = bound(windows::unbatch(), "{}", {"x", "y"});
  EXPECT_EQ(windowing.axes, 1U);
  EXPECT_THAT(texts_of(cut_all(windowing, {.values = {2, 2, 1, 1}, .keys = 2})),
              ElementsAre("0:0+1", "0:1+1", "1:0+1"));
}

TEST(Unbatch, KeysOfOneRecordAreEquallyLong) {
  const auto cut = cut_all(bound(windows::unbatch(), "{}", {"x", "y"}), {.values = {2, 2, 1, 3}, .keys = 2});
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code(), Code::data);
  EXPECT_EQ(cut.error().place().record, 1);
  EXPECT_THAT(cut.error().message(), HasSubstr("'x' has 1 frames and 'y' has 3"));
}

TEST(Unbatch, LeavesTheFirstAxisOut) {
  Schema in;
  in.put({.name = "x", .dtype = DType::float32, .shape = {unknown_dim, 4}});
  in.put({.name = "y", .dtype = DType::string, .shape = {3}});
  const auto made = windows::unbatch().bind(*parse_json(R"({"keys": ["x", "y"], "number": "n"})"), in, nullptr);
  ASSERT_TRUE(made.ok()) << made.error().text();
  const auto shape_of = [&](const char* name) { return made->out[*made->out.find(name)].shape.text(); };
  EXPECT_EQ(shape_of("x"), "[4]");
  EXPECT_EQ(shape_of("y"), "[]");
  EXPECT_EQ(shape_of("n"), "[]");
  EXPECT_TRUE(made->frames);
}

TEST(Unbatch, FaultsSayWhatIsAllowed) {
  Schema in = testing::sequences({"x"});
  in.put({.name = "id", .dtype = DType::int64, .shape = {}});
  EXPECT_THAT(fault(windows::unbatch(), R"({"keys": ["id"]})", in), HasSubstr("so it has no time axis to cut"));
  EXPECT_THAT(fault(windows::unbatch(), R"({"start": "x"})", in), HasSubstr("there is already a tensor 'x'"));
  EXPECT_THAT(fault(windows::unbatch(), R"({"number": ""})", in), HasSubstr("a tensor's name must not be empty"));
  const Windowing chunk = bound(windows::chunk(), R"({"size": 2})", {"x"});
  EXPECT_THAT(fault(windows::unbatch(), "{}", in, &chunk), HasSubstr("divides records, not windows"));
  const Windowing frames = bound(windows::unbatch(), "{}", {"x"});
  EXPECT_THAT(fault(windows::context(), R"({"window": 3})", in, &frames), HasSubstr("the step before leaves it out"));
}

}  // namespace
}  // namespace forebay
