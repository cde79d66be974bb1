// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <forebay/convert_records.h>
#include <forebay/files.h>
#include <forebay/messages.h>
#include <forebay/run_options.h>

#include "arguments.h"
#include "enum_names.h"
#include "interrupt.h"
#include "progress.h"
#include "python_package.h"
#include "report.h"
#include "verbs.h"

namespace forebay::cli {

namespace {

struct Convert {
  std::vector<std::string> paths;  // inputs, and the output at the end
  std::string document;            // instead of inputs
  std::string from, to;
  std::string input_compression = "auto";
  std::string compression;
  std::int64_t files = 1;
  std::string file_size;
  bool shuffle = false;
  std::int64_t seed = 0;
  std::vector<std::string> select, drop, lists;
  std::string shard = "0/1";
  bool resume = false, force = false, no_index = false;
  bool narrow = false;
  std::int64_t threads = 0;
  bool json = false;
};

Result<ConvertShard> shard_of(const std::string& text) {
  const Json json{text};
  FOREBAY_TRY(const Shard shard, parse_shard(json));
  return ConvertShard{.index = shard.index, .count = shard.count};
}

/// Whether the records of TFRecord files are copied as they are.
bool copies_records(const Convert& asked, const std::vector<std::string>& inputs, const std::string& out) {
  const auto is_tfrecord = [](const std::string& named, const std::string& path) {
    return (named.empty() ? file_format(path) : named) == "tfrecord";
  };
  return asked.select.empty() && asked.drop.empty() && asked.lists.empty() && is_tfrecord(asked.to, out) &&
         std::ranges::all_of(inputs, [&](const std::string& path) { return is_tfrecord(asked.from, path); });
}

void add_if(std::vector<std::string>& out, const char* option, const std::string& value) {
  if (!value.empty()) out.push_back(fmt::format("{}={}", option, value));
}

/// The same command for the program in Python, which reads and writes all formats.
std::vector<std::string> arguments_of(const Convert& asked) {
  std::vector<std::string> out;
  add_if(out, "--document", asked.document);
  add_if(out, "--from", asked.from);
  add_if(out, "--to", asked.to);
  add_if(out, "--input-compression", asked.input_compression == "auto" ? "" : asked.input_compression);
  add_if(out, "--compression", asked.compression);
  add_if(out, "--files", asked.files == 1 ? "" : std::to_string(asked.files));
  add_if(out, "--file-size", asked.file_size);
  add_if(out, "--seed", asked.seed == 0 ? "" : std::to_string(asked.seed));
  add_if(out, "--shard", asked.shard);
  add_if(out, "--threads", asked.threads == 0 ? "" : std::to_string(asked.threads));
  for (const std::string& name : asked.select) add_if(out, "--select", name);
  for (const std::string& name : asked.drop) add_if(out, "--drop", name);
  for (const std::string& name : asked.lists) add_if(out, "--lists", name);
  for (const auto& [option, given] : {std::pair{"--shuffle", asked.shuffle},
                                      {"--resume", asked.resume},
                                      {"--force", asked.force},
                                      {"--no-index", asked.no_index},
                                      {"--narrow", asked.narrow},
                                      {"--json", asked.json}}) {
    if (given) out.emplace_back(option);
  }
  out.emplace_back("--");
  out.insert(out.end(), asked.paths.begin(), asked.paths.end());
  return out;
}

Json json_of(const std::vector<ConvertedFile>& files) {
  std::vector<Json> list;
  for (const ConvertedFile& file : files) {
    Json each = Json::object();
    each.set("file", file.path);
    each.set("rows", file.records);
    each.set("made", file.made);
    list.push_back(std::move(each));
  }
  Json out = Json::object();
  out.set("ok", true);
  out.set("files", Json::array(std::move(list)));
  return out;
}

/// The compression of records. Parquet has others, so the names are not those of the flag.
Result<Compression> compression_of(const std::string& name) {
  const std::vector<std::string> known = names_of<Compression>();
  if (name.empty()) return Compression::automatic;
  if (std::ranges::find(known, name) != known.end()) return value_of<Compression>(name);
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("--compression: must be one of {} for TFRecord files; found {}", fmt::join(known, ", "),
                           quote(name))};
}

Result<void> copy(const Convert& asked, const std::vector<std::string>& inputs, const std::string& out) {
  Progress progress{asked.json ? Progress::Wanted::no : Progress::Wanted::yes};
  ConvertRecordsOptions options{.input_compression = value_of<Compression>(asked.input_compression),
                                .files = asked.files,
                                .shuffle = asked.shuffle,
                                .seed = asked.seed,
                                .existing = asked.resume  ? ExistingOutput::resume
                                            : asked.force ? ExistingOutput::replace
                                                          : ExistingOutput::refuse,
                                .threads = asked.threads,
                                .index = !asked.no_index};
  options.progress = [&](const ConvertProgress& now) {
    const auto records = static_cast<double>(std::max<std::int64_t>(now.records, 1));
    progress.show(
        static_cast<double>(now.records_done) / records,
        fmt::format("{} of {} files  {} of {} records", now.files_done, now.files, now.records_done, now.records));
    return !interrupted();
  };
  FOREBAY_TRY(options.compression, compression_of(asked.compression));
  FOREBAY_TRY(options.shard, shard_of(asked.shard));
  if (!asked.file_size.empty()) {
    FOREBAY_TRY(options.file_bytes, parse_memory(Json{asked.file_size}));
  }
  const auto files = convert_records(inputs, out, options);
  progress.clear();
  if (!files.ok()) return files.error();
  if (asked.json) {
    print_line(json_of(*files).pretty());
    return {};
  }
  for (const ConvertedFile& file : *files)
    print_line(fmt::format("{}: {} rows{}", file.path, file.records, file.made ? "" : ", complete before"));
  return {};
}

Result<void> in_python(const Convert& asked) {
  return run_python(
      "forebay._conversion.command", arguments_of(asked),
      "convert: between TFRecord files nothing is needed, but other formats (which need pyarrow, too), --document, "
      "--select, --drop and --lists are the work of Python");
}

Result<void> convert(const Convert& asked) {
  if (!asked.document.empty()) return in_python(asked);
  if (asked.paths.size() < 2)
    return Error{Code::config, Detail::invalid_argument, "convert: name the inputs, and the output at the end"};
  const std::string& out = asked.paths.back();
  const std::vector<std::string> inputs{asked.paths.begin(), asked.paths.end() - 1};
  FOREBAY_TRY(const std::vector<std::string> paths, expand_files(inputs, ""));
  if (copies_records(asked, paths, out)) return copy(asked, inputs, out);
  return in_python(asked);
}

}  // namespace

void add_convert(CLI::App& app, Command& command) {
  const auto asked = std::make_shared<Convert>();
  CLI::App* verb = app.add_subcommand("convert", "Writes data sets anew: other formats, files, order, compression");
  const auto formats =
      CLI::IsMember(std::vector<std::string>{"tfrecord", "parquet", "arrow", "tar", "csv", "npy", "npz"});
  verb->add_option("IN… OUT", asked->paths, "Files and patterns, and the output: its name says the format")->required();
  verb->add_option("--document", asked->document,
                   "Instead of inputs: the rows of this pipeline document, before its batch")
      ->check(not_empty());
  verb->add_option("--from", asked->from, "Format of the inputs, if their names do not say it")->check(formats);
  verb->add_option("--to", asked->to, "Format of the output, if its name does not say it")->check(formats);
  verb->add_option("--input-compression", asked->input_compression, "Compression of the inputs")
      ->check(CLI::IsMember(names_of<Compression>()));
  verb->add_option("--compression", asked->compression, "Compression of the output; left out: as its name says")
      ->check(not_empty());
  CLI::Option* files = verb->add_option("--files", asked->files, "Number of output files")->check(whole_number(1));
  verb->add_option("--file-size", asked->file_size, "Instead: about so much content in each file, such as 256MiB")
      ->excludes(files)
      ->check(not_empty());
  verb->add_flag("--shuffle", asked->shuffle, "Write in the order of a global shuffle");
  verb->add_option("--seed", asked->seed, "Seed of the shuffle");
  verb->add_option("--select", asked->select, "Write only this feature; may be repeated")
      ->allow_extra_args(false)
      ->check(not_empty());
  verb->add_option("--drop", asked->drop, "Leave this feature out; may be repeated")
      ->allow_extra_args(false)
      ->check(not_empty());
  verb->add_option("--lists", asked->lists, "Tensor that is a list of frames of SequenceExamples; may be repeated")
      ->allow_extra_args(false)
      ->check(not_empty());
  verb->add_flag("--narrow", asked->narrow, "Round float64 to float32 where the output has no float64");
  verb->add_option("--shard", asked->shard, "I/N: make only the files I, I + N, …")->check(not_empty());
  CLI::Option* resume =
      verb->add_flag("--resume", asked->resume, "Go on with the same conversion; complete files stay");
  verb->add_flag("--force", asked->force, "Remove output files that are there")->excludes(resume);
  verb->add_flag("--no-index", asked->no_index, "Do not store the indexes of the output");
  verb->add_option("--threads", asked->threads, "Threads; 0: one for every CPU")->check(whole_number(0, 1024));
  set_command(verb, asked, convert, command);
}

}  // namespace forebay::cli
