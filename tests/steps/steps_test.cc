// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/blocks.h"

namespace forebay::steps {
StepType slice();
StepType constant();
StepType ones();
StepType one_hot();
StepType reshape();
StepType cast();
StepType normalize();
StepType select();
StepType rename();
StepType decode_image();
StepType color_jitter();
StepType decode_audio();
StepType log_mel();
StepType mfcc();
StepType check_utf8();
StepType split_text();
StepType lookup();
StepType byte_ids();
StepType ngrams();

namespace {

using testing::HasSubstr;

std::string run(const StepType& type, std::string_view options, std::string_view in) {
  const auto out = test::run_step(type, options, in);
  return out.ok() ? out->text() : out.error().text();
}

TEST(Steps, DoWhatTheirExamplesSay) {
  for (const StepType& type : {slice(), constant(), ones(), one_hot(), reshape(), cast(), normalize(), select(),
                               rename(), decode_image(), color_jitter(), decode_audio(), log_mel(), mfcc(),
                               check_utf8(), split_text(), lookup(), byte_ids(), ngrams()}) {
    EXPECT_FALSE(type.description.examples.empty()) << type.description.name;
    for (const Example& example : type.description.examples) {
      Schema schema;
      const ColumnBlock wanted = test::block_from_json(*parse_json(example.out), schema);
      EXPECT_EQ(run(type, example.options, example.in), test::block_to_json(wanted, schema).text()) << example.options;
    }
  }
}

TEST(Constant, ShapeMayBeTextAsInOlderDocuments) {
  for (const char* shape : {"[1,2]", "(1,2)", "1,2", " [ 1 , 2 ] "}) {
    EXPECT_EQ(run(ones(), R"({"tensor": "o", "dtype": "x", "shape": ")" + std::string{shape} + "\"}", R"({"x": [7]})"),
              R"({"x":[7],"o":[[[1,1]]]})");
  }
  EXPECT_THAT(run(ones(), R"({"tensor": "o", "dtype": "int32", "shape": "q,w"})", R"({"x": [7]})"), HasSubstr("q,w"));
}

TEST(Constant, ValueMustFitTheType) {
  const auto made = [](std::string dtype, std::string value) {
    return run(constant(), R"({"tensor": "c", "shape": [], "dtype": ")" + dtype + R"(", "value": )" + value + "}",
               R"({"x": [7]})");
  };
  EXPECT_EQ(made("int8", "-128"), R"({"x":[7],"c":[-128]})");
  EXPECT_EQ(made("bool", "true"), R"({"x":[7],"c":[true]})");
  EXPECT_EQ(made("string", "null"), R"({"x":[7],"c":[""]})");
  EXPECT_THAT(made("int8", "128"), HasSubstr("value: must be a value of type int8; found 128"));
  EXPECT_THAT(made("uint64", "-1"), HasSubstr("must be a value of type uint64"));
  EXPECT_THAT(made("int32", "1.5"), HasSubstr("must be a value of type int32"));
  EXPECT_THAT(made("float16", "1e6"), HasSubstr("must be a value of type float16"));
  EXPECT_THAT(made("string", "3"), HasSubstr("must be a value of type string"));
  EXPECT_THAT(made("int63", "3"), HasSubstr("'int63' is neither a type nor a tensor"));
}

TEST(Constant, NamesThatAreTakenAreRefused) {
  const std::string in = R"({"x": [7], "x_2": [8]})";
  const std::string says = ": there is already a tensor 'x'; choose another name, 'x_3' is free";
  EXPECT_EQ(run(constant(), R"({"tensor": "x", "shape": [], "dtype": "int8"})", in), "line 1:12, /tensor" + says);
  EXPECT_EQ(run(ones(), R"({"tensor": "x", "shape": [], "dtype": "int8"})", in), "line 1:12, /tensor" + says);
  EXPECT_EQ(run(rename(), R"({"from": "x_2", "to": "x"})", in), "line 1:23, /to" + says);
}

TEST(Constant, AllFaultsAreNamedAtOnce) {
  EXPECT_EQ(run(constant(), R"({"tensor": "x", "shape": [-1], "dtype": "int8", "value": 300})", R"({"x": [7]})"),
            "3 faults:\n"
            "  line 1:12, /tensor: there is already a tensor 'x'; choose another name, 'x_2' is free\n"
            "  line 1:26, /shape: a dim must not be negative; found -1\n"
            "  line 1:58, /value: must be a value of type int8; found 300");
  EXPECT_THAT(run(ones(), R"({"tensor": "", "shape": "q", "dtype": "string"})", R"({"x": [7]})"),
              AllOf(HasSubstr("tensor: a tensor's name must not be empty"), HasSubstr("shape: there is no tensor 'q'"),
                    HasSubstr("dtype: ones are real numbers or bools, not string")));
}

TEST(Constant, HugeAndNegativeShapesAreRefused) {
  EXPECT_THAT(run(constant(), R"({"tensor": "c", "shape": [-1], "dtype": "int8"})", R"({"x": [7]})"),
              HasSubstr("must not be negative; found -1"));
  EXPECT_THAT(
      run(constant(), R"({"tensor": "c", "shape": [4294967296, 4294967296, 2], "dtype": "int8"})", R"({"x": [7]})"),
      HasSubstr("elements are allowed"));
  EXPECT_THAT(run(constant(), R"({"tensor": "c", "shape": 2, "dtype": "int8"})", R"({"x": [7]})"),
              HasSubstr("shape: expected a list"));
}

TEST(OneHot, TakesInt32AndInt64Only) {
  EXPECT_EQ(run(one_hot(), R"({"tensor": "x", "depth": 2})", R"({"x": {"rows": [1, 2], "dtype": "int32"}})"),
            R"({"x":[[0.0,1.0],[0.0,0.0]]})");
  EXPECT_THAT(run(one_hot(), R"({"tensor": "x", "depth": 2})", R"({"x": [1.5]})"), HasSubstr("'x' is float32"));
  EXPECT_THAT(run(one_hot(), R"({"tensor": "x", "depth": 2, "dtype": "bool"})", R"({"x": [1]})"), HasSubstr("depth 2"));
  EXPECT_THAT(run(one_hot(), R"({"tensor": "x", "depth": -1})", R"({"x": [1]})"), HasSubstr("depth"));
}

TEST(OneHot, DepthZeroGivesNoElements) {
  EXPECT_EQ(run(one_hot(), R"({"tensor": "x", "depth": 0})", R"({"x": [[0, 1], [2]]})"), R"({"x":[[[],[]],[[]]]})");
}

TEST(Reshape, ElementCountMustMatch) {
  EXPECT_THAT(run(reshape(), R"({"tensor": "x", "shape": [4, 2]})", R"({"x": [[1, 2, 3, 4, 5, 6]]})"),
              HasSubstr("shape: [6] has 6 elements and cannot become [4,2], which has 8"));
  EXPECT_THAT(run(reshape(), R"({"tensor": "x", "shape": [0]})", R"({"x": [[1]]})"),
              HasSubstr("must be positive; found 0"));
  EXPECT_THAT(run(reshape(), R"({"tensor": "x", "shape": [-1]})", R"({"x": [[1]]})"),
              HasSubstr("must be positive; found -1"));
}

TEST(Reshape, RowsOfUnknownSizeAreCheckedOneByOne) {
  EXPECT_EQ(run(reshape(), R"({"tensor": "x", "shape": [2, 2]})", R"({"x": {"rows": [[1, 2, 3, 4]], "shape": [-1]}})"),
            R"({"x":[[[1,2],[3,4]]]})");
  const auto out = test::run_step(reshape(), R"({"tensor": "x", "shape": [2]})", R"({"x": [[1, 2], [3]]})");
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().place().row, 1);
  EXPECT_EQ(out.error().message(), "shape: [1] has 1 elements and cannot become [2], which has 2");
}

TEST(Cast, KeepsTheSizesOfUnequalRows) {
  EXPECT_EQ(run(cast(), R"({"tensor": "x", "dtype": "float64"})", R"({"x": [[1], [], [2, 3]]})"),
            R"({"x":[[1.0],[],[2.0,3.0]]})");
}

TEST(Cast, NamesTheRowAndTheValueThatDoesNotFitWhenAsked) {
  const std::string options = R"({"tensor": "x", "dtype": "uint8", "out_of_range": "error"})";
  EXPECT_EQ(run(cast(), options, R"({"x": [[1, 2], [255, 0]]})"), R"({"x":[[1,2],[255,0]]})");
  for (const char* in : {R"({"x": [[1, 2], [255, 300]]})", R"({"x": [[], [1, 300], [7]]})"}) {
    const auto out = test::run_step(cast(), options, in);
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code(), Code::data);
    EXPECT_EQ(out.error().place().row, 1);
    EXPECT_EQ(out.error().place().feature, "x");
    EXPECT_EQ(out.error().message(),
              "300 is outside the range of uint8; give `dtype` a wider type, or set `out_of_range` to \"wrap\"");
  }
  EXPECT_EQ(run(cast(), R"({"tensor": "x", "dtype": "uint8"})", R"({"x": [300]})"), R"({"x":[44]})");
}

TEST(Cast, RefusesStrings) {
  EXPECT_THAT(run(cast(), R"({"tensor": "x", "dtype": "int32"})", R"({"x": ["a"]})"),
              HasSubstr("is string and cannot be cast to int32"));
}

TEST(Cast, RefusesComplexNumbers) {
  EXPECT_THAT(run(cast(), R"({"tensor": "x", "dtype": "complex64"})", R"({"x": [1.5]})"),
              HasSubstr("is float32 and cannot be cast to complex64; only real numbers and bools"));
  EXPECT_THAT(run(cast(), R"({"tensor": "x", "dtype": "float32"})", R"({"x": {"rows": [], "dtype": "complex64"}})"),
              HasSubstr("is complex64 and cannot be cast to float32; only real numbers and bools"));
  EXPECT_THAT(run(normalize(), R"({"tensor": "x", "axis": 0})", R"({"x": {"rows": [], "dtype": "complex128"}})"),
              HasSubstr("tensor: 'x' is complex128; only real numbers can be normalized"));
  EXPECT_THAT(run(one_hot(), R"({"tensor": "x", "depth": 2, "dtype": "complex64"})", R"({"x": [1]})"),
              HasSubstr("are integers or floats, not complex64"));
}

TEST(Normalize, MatchesTheReferenceAlongEitherAxis) {
  Schema schema;
  ColumnBlock block =
      test::block_from_json(*parse_json(R"({"x": [[[1, 2, 3], [5, 6, 7]], [[0, 0, 0], [1, 1, 1]]]})"), schema);
  const auto bound = normalize().bind(*parse_json(R"({"tensor": "x", "axis": 1})"), schema);
  ASSERT_TRUE(bound.ok());
  test::add_columns(block, bound->out);
  ASSERT_TRUE(bound->op->apply(block, {}, bound->op->memory().get()).ok());
  EXPECT_EQ(block[1].dtype, DType::float32);
  EXPECT_THAT(block[1].values.span<float>(),
              testing::Pointwise(testing::FloatNear(1e-6F), {-1.2247448F, 0.F, 1.2247448F, -1.2247448F, 0.F, 1.2247448F,
                                                             0.F, 0.F, 0.F, 0.F, 0.F, 0.F}));
  EXPECT_EQ(run(normalize(), R"({"tensor": "x", "axis": 0})", R"({"x": [[[1, 2], [3, 4]]]})"),
            R"({"x":[[[-1.0,-1.0],[1.0,1.0]]]})");
}

TEST(Normalize, AxisOutsideTheTensorIsRefused) {
  EXPECT_THAT(run(normalize(), R"({"tensor": "x", "axis": 2})", R"({"x": [[[1.5]]]})"),
              HasSubstr("axis: 2 is outside -2 to 1"));
  EXPECT_THAT(run(normalize(), R"({"tensor": "x", "axis": 0})", R"({"x": [1.5]})"),
              HasSubstr("has no axis but the batch's"));
}

TEST(Select, RefusesUnknownAndRepeatedNames) {
  EXPECT_THAT(run(select(), R"({"tensors": ["imag"]})", R"({"image": [1]})"), HasSubstr("did you mean 'image'?"));
  EXPECT_THAT(run(select(), R"({"tensors": ["a", "a"]})", R"({"a": [1]})"), HasSubstr("'a' is named twice"));
}

TEST(Rename, RefusesANameThatIsTaken) {
  EXPECT_THAT(run(rename(), R"({"from": "a", "to": "b"})", R"({"a": [1], "b": [2]})"),
              HasSubstr("there is already a tensor 'b'"));
}

}  // namespace
}  // namespace forebay::steps
