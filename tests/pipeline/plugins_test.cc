// SPDX-License-Identifier: Apache-2.0
// The conformance test of all registered plug-ins, from their descriptions alone. It names none, except the few whose
// input is not rows of tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/worked_examples.h"

namespace forebay {
namespace {

using testing::Folder;
using testing::parse;
using worked::bindings_of;
using worked::Case;
using worked::document_of;
using worked::outcome_of;
using worked::worked_examples;

class WorkedExample : public ::testing::TestWithParam<Case> {};

TEST_P(WorkedExample, ComesOutAsWrittenForOneAndForEightThreads) {
  const Folder folder;
  const Json document = document_of(GetParam(), folder);
  for (const std::int64_t threads : {1, 8})
    EXPECT_EQ(outcome_of(GetParam(), document, threads).text(), parse(GetParam().example.out).text());
}

TEST_P(WorkedExample, PlannedTypesAndShapesAreWhatIsDelivered) {
  const Folder folder;
  auto pipeline = load(document_of(GetParam(), folder), {}, ".", bindings_of(GetParam()));
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
  const std::vector<ColumnSpec> planned = pipeline->plan().outputs();
  const auto batch = pipeline->next();
  ASSERT_TRUE(batch.ok());
  if (!*batch) return;
  for (const ColumnSpec& column : planned) {
    const Value& value = *(*batch)->find(column.name);
    EXPECT_EQ(value.values.dtype, column.dtype) << column.name;
    if (value.kind != Value::Kind::dense) continue;
    ASSERT_EQ(value.values.shape.rank(), column.shape.rank() + 1) << column.name;
    for (std::size_t axis = 0; axis < column.shape.rank(); ++axis) {
      if (column.shape[axis] == unknown_dim) continue;
      EXPECT_EQ(value.values.shape[axis + 1], column.shape[axis]) << column.name;
    }
  }
}

TEST_P(WorkedExample, CanBeDroppedMidway) {
  const Folder folder;
  auto pipeline = load(document_of(GetParam(), folder), {.threads = 3}, ".", bindings_of(GetParam()));
  ASSERT_TRUE(pipeline.ok());
  EXPECT_TRUE(pipeline->next().ok());
}

TEST_P(WorkedExample, AnUnknownOptionIsRefusedByName) {
  const Folder folder;
  Case at = GetParam();
  Json options = parse(at.example.options);
  options.set("no_such_option", 1);
  at.example.options = options.text();
  const auto plan = Plan::make(document_of(at, folder));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), Code::config);
  EXPECT_THAT(plan.error().text(), ::testing::HasSubstr("no_such_option"));
}

INSTANTIATE_TEST_SUITE_P(Plugins, WorkedExample, ::testing::ValuesIn(worked_examples()));

// ------------------------------------------------------------------------------------------------ options, one by one

struct OptionCase {
  std::string plugin;
  FieldInfo field;
  std::function<bool(const Json&)> accepts;  // one option, the others as in the example
};

std::ostream& operator<<(std::ostream& out, const OptionCase& at) { return out << at.plugin << "." << at.field.name; }

template <class Types>
void add_options(const Types& types, std::vector<OptionCase>& out) {
  for (const auto& type : types) {
    for (const FieldInfo& field : type.description.fields) {
      const auto accepts = [type, field](const Json& value) {
        Json options = type.description.examples.empty() ? Json::object()
                                                         : testing::parse(type.description.examples.front().options);
        options.set(field.name, value);
        Schema schema;
        schema.put({.name = "x", .dtype = DType::int64, .shape = {4}});
        std::vector<std::string> none;
        if constexpr (requires { type.bind(options, schema, nullptr); }) {
          Schema sequences;
          sequences.put({.name = "x", .dtype = DType::int64, .shape = Shape{unknown_dim}});
          return type.bind(options, sequences, nullptr).ok();
        } else if constexpr (requires { type.bind(options, schema); })
          return type.bind(options, schema).ok();
        else if constexpr (requires { type.bind(options, none); })
          return type.bind(options, none).ok();
        else if constexpr (requires { type.bind(options); })
          return type.bind(options).ok();
        else if constexpr (requires { type.bind(options, BranchList{}); })
          return type.bind(options, BranchList{.repeat = {false, false}}).ok();
        else
          return type.bind(options, BindContext{}).ok();
      };
      out.push_back({type.description.name, field, accepts});
    }
  }
}

std::vector<OptionCase> all_options() {
  std::vector<OptionCase> out;
  const Registry& registry = Registry::global();
  add_options(registry.sources(), out);
  add_options(registry.decoders(), out);
  add_options(registry.steps(), out);
  add_options(registry.orders(), out);
  add_options(registry.windows(), out);
  add_options(registry.batchers(), out);
  add_options(registry.combinations(), out);
  return out;
}

class Option : public ::testing::TestWithParam<OptionCase> {};

TEST_P(Option, IsDocumented) { EXPECT_GT(GetParam().field.doc.size(), 5U); }

TEST_P(Option, ValuesOfAnotherTypeAreRefused) {
  const Json* type = GetParam().field.schema.find("type");
  if (type == nullptr || !type->is(Json::Kind::string)) return;  // several types are allowed
  if (type->string() != "string") {
    EXPECT_FALSE(GetParam().accepts(Json{"text"}));
  }
  if (type->string() != "boolean") {
    EXPECT_FALSE(GetParam().accepts(Json{true}));
  }
  if (type->string() != "object") {
    EXPECT_FALSE(GetParam().accepts(Json::object({{"a", 1}})));
  }
}

TEST_P(Option, ValuesJustOutsideTheRangeAreRefused) {
  if (const Json* least = GetParam().field.schema.find("minimum")) {
    EXPECT_FALSE(GetParam().accepts(Json{least->integer() - 1}));
  }
  if (const Json* most = GetParam().field.schema.find("maximum")) {
    EXPECT_FALSE(GetParam().accepts(Json{most->integer() + 1}));
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, Option, ::testing::ValuesIn(all_options()));

TEST(Plugins, EveryOneHasAWorkedExampleAndADescription) {
  const auto check = [](const auto& types) {
    for (const auto& type : types) {
      EXPECT_FALSE(type.description.examples.empty()) << type.description.name;
      EXPECT_THAT(type.description.doc, ::testing::EndsWith(".")) << type.description.name;
    }
  };
  const Registry& registry = Registry::global();
  check(registry.sources()), check(registry.decoders()), check(registry.steps()), check(registry.orders()),
      check(registry.windows()), check(registry.batchers()), check(registry.combinations());
}

}  // namespace
}  // namespace forebay
