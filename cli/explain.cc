// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <memory>

#include <fmt/core.h>

#include <forebay/json_codec.h>
#include <forebay/json_codec_composed.h>
#include <forebay/messages.h>
#include <forebay/plan.h>
#include <forebay/reference.h>
#include <forebay/shuffle_quality.h>

#include "interrupt.h"
#include "report.h"
#include "run_flags.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Explain {
  std::string what;
  bool lowered = false;
  bool schema = false;
  bool shuffle = false;
  bool json = false;
  ShardFlags shard;
};

const std::string& text_at(const Json& json, std::string_view key) { return json.find(key)->string(); }

std::string list_text(const Json& reference) {
  std::string out, kind;
  for (const Json& plugin : reference.items()) {
    if (text_at(plugin, "kind") != kind) {
      out += fmt::format("{}{}s\n", kind.empty() ? "" : "\n", text_at(plugin, "kind"));
      kind = text_at(plugin, "kind");
    }
    out += fmt::format("  {:<18} {}\n", text_at(plugin, "name"), text_at(plugin, "doc"));
  }
  return out;
}

/// The allowed words of a value, also of an optional one.
const Json* choices_of(const Json& schema) {
  if (const Json* choices = schema.find("enum")) return choices;
  const Json* any = schema.find("anyOf");
  return any != nullptr && !any->items().empty() ? any->items().front().find("enum") : nullptr;
}

std::string plugin_text(const Json& plugin) {
  std::string out =
      fmt::format("{} ({})\n  {}\n", text_at(plugin, "name"), text_at(plugin, "kind"), text_at(plugin, "doc"));
  if (!plugin.find("fields")->items().empty()) out += "\noptions\n";
  for (const Json& field : plugin.find("fields")->items()) {
    const Json* fallback = field.find("default");
    const std::string value = fallback == nullptr ? "required" : "default " + fallback->text();
    out += fmt::format("  {}: {}, {}\n      {}\n", text_at(field, "name"), text_at(field, "type"), value,
                       text_at(field, "doc"));
    for (const char* limit : {"minimum", "maximum"}) {
      if (const Json* bound = field.find("schema")->find(limit))
        out += fmt::format("      {}: {}\n", limit, bound->text());
    }
    if (const Json* choices = choices_of(*field.find("schema")))
      out += fmt::format("      one of {}\n", choices->text());
  }
  if (!plugin.find("examples")->items().empty()) out += "\nexamples\n";
  for (const Json& example : plugin.find("examples")->items()) {
    out += fmt::format("  {}\n      {}\n   -> {}\n", example.find("options")->text(), example.find("in")->text(),
                       example.find("out")->text());
  }
  return out;
}

std::vector<Json> named(const Json& reference, const std::string& name) {
  std::vector<Json> out;
  for (const Json& plugin : reference.items()) {
    if (text_at(plugin, "name") == name) out.push_back(plugin);
  }
  return out;
}

Error unknown(const Json& reference, const std::string& name) {
  std::vector<std::string> names;
  for (const Json& plugin : reference.items()) names.push_back(text_at(plugin, "name"));
  const std::string near = nearest(name, names);
  return Error{Code::config, Detail::not_found,
               fmt::format("there is no plug-in and no document {}{}", quote(name),
                           near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
}

Json column_json(const ColumnSpec& column) {
  constexpr std::string_view deliveries[] = {"equal", "padded", "ragged", "sparse"};
  Json out = Json::object();
  out.set("name", column.name);
  out.set("dtype", JsonCodec<DType>::write(column.dtype));
  out.set("shape", JsonCodec<Shape>::write(column.shape));
  out.set("delivery", std::string{deliveries[static_cast<std::size_t>(column.delivery)]});
  return out;
}

Json stage_json(const PlanStage& stage) {
  Json out = Json::object();
  out.set("where", stage.where);
  out.set("plugin", stage.plugin.empty() ? Json{} : Json{stage.plugin});
  out.set("text", stage.text);
  out.set("branch", stage.branch ? Json{*stage.branch} : Json{});
  out.set("step", stage.step ? Json{*stage.step} : Json{});
  return out;
}

Json plan_json(const Plan& plan) {
  Json out = Json::object();
  std::vector<Json> outputs;
  for (const ColumnSpec& column : plan.outputs()) outputs.push_back(column_json(column));
  out.set("outputs", Json::array(std::move(outputs)));
  out.set("inputs", JsonCodec<std::vector<std::string>>::write(plan.inputs()));
  out.set("targets", JsonCodec<std::vector<std::string>>::write(plan.targets()));
  out.set("batches", plan.batches() ? Json{*plan.batches()} : Json{});
  out.set("hash", fmt::format("{:016x}", plan.hash()));
  out.set("text", plan.text());
  std::vector<Json> stages;
  for (const PlanStage& stage : plan.stages()) stages.push_back(stage_json(stage));
  out.set("stages", Json::array(std::move(stages)));
  out.set("lowered", plan.lowered());
  return out;
}

void print_block(const std::string& text) { text.ends_with('\n') ? print(text) : print_line(text); }

Json quality_json(const ShuffleQuality& quality) {
  Json out = Json::object();
  out.set("rows", quality.rows);
  out.set("files", quality.files);
  out.set("displacement", quality.displacement);
  out.set("of_uniform", quality.of_uniform);
  out.set("file_correlation", quality.file_correlation ? Json{*quality.file_correlation} : Json{});
  return out;
}

std::string quality_text(const ShuffleQuality& quality) {
  std::string out = fmt::format("first epoch: {} rows of {} files\n", quality.rows, quality.files);
  out += fmt::format("  mean displacement  {:.4f} of the rows: {:.1f} % of what a uniform shuffle has (0.3333)\n",
                     quality.displacement, 100 * quality.of_uniform);
  const auto& correlation = quality.file_correlation;
  out += fmt::format("  file correlation   {}\n",
                     correlation ? fmt::format("{:.4f} between neighbours; a uniform shuffle has about 0", *correlation)
                                 : "none: all rows come from one file");
  return out;
}

Result<void> explain_shuffle(const Explain& asked, const Plan& plan) {
  FOREBAY_TRY(const ShuffleQuality quality, shuffle_quality(plan, interrupted));
  asked.json ? print_line(quality_json(quality).pretty()) : print(quality_text(quality));
  return {};
}

Result<void> explain_document(const Explain& asked) {
  FOREBAY_TRY(const Plan plan, Plan::load(asked.what));
  if (asked.shuffle) return explain_shuffle(asked, plan);
  if (asked.lowered) return print_line(plan.lowered().pretty()), Result<void>{};
  FOREBAY_TRY(const ShardReading reading, asked.shard.reading(plan));
  const std::string shard = reading.text();
  if (asked.json) {
    Json out = plan_json(plan);
    if (!shard.empty()) out.set("shard", reading_json(reading));
    return print_line(out.pretty()), Result<void>{};
  }
  print_block(plan.text());
  if (!shard.empty()) print_line("shard: " + shard);
  return {};
}

Result<void> explain(const Explain& asked) {
  if (asked.schema) return print_line(document_schema().pretty()), Result<void>{};
  const Json reference = document_reference();
  if (asked.what.empty()) {
    if (asked.lowered || asked.shuffle) {
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("{} needs a document", asked.lowered ? "--lowered" : "--shuffle")};
    }
    print_block(asked.json ? reference.pretty() : list_text(reference));
    return {};
  }
  const std::vector<Json> found = named(reference, asked.what);
  if (found.empty() || asked.lowered || asked.shuffle) {
    // A name that looks like a path gets the message of the system if it cannot be read.
    const bool path = asked.what.find_first_of("/.") != std::string::npos || ::access(asked.what.c_str(), F_OK) == 0;
    if (path) return explain_document(asked);
    if (found.empty()) return unknown(reference, asked.what);
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("{} is a plug-in; {} takes a document", quote(asked.what),
                             asked.lowered ? "--lowered" : "--shuffle")};
  }
  if (asked.json) return print_line(Json::array(found).pretty()), Result<void>{};
  for (std::size_t i = 0; i < found.size(); ++i) print((i == 0 ? "" : "\n") + plugin_text(found[i]));
  return {};
}

}  // namespace

void add_explain(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Explain>();
  CLI::App* verb = app.add_subcommand("explain", "Explains a plug-in and its options, or the plan of a document");
  standard_input(verb->add_option(
      "WHAT", asked->what,
      "Name of a plug-in, a part of documents or a kind of feature, or a document; without it all names are listed"));
  verb->add_flag("--lowered", asked->lowered, "Print the pipeline document that a document is translated to");
  verb->add_flag("--shuffle", asked->shuffle,
                 "Read the files and measure how well the first epoch of a document is shuffled")
      ->excludes("--lowered");
  verb->add_flag("--schema", asked->schema, "Print the JSON Schema of documents");
  asked->shard.add_shard_to(*verb);
  set_command(verb, asked, explain, command);
}

}  // namespace forebay::cli
