// SPDX-License-Identifier: Apache-2.0
#include "source_flags.h"

#include <utility>

#include <forebay/messages.h>

#include "arguments.h"
#include "interrupt.h"

namespace forebay::cli {

void SourceFlags::add_to(CLI::App& verb) {
  verb.add_option("FILE", paths, "Files, folders and patterns (*, **, ?, [a-z], path@N); or a document")->required();
  add_options_to(verb);
}

void SourceFlags::add_options_to(CLI::App& verb) {
  verb.add_option("--source", source, "What the files are: tfrecord, csv, fixed_length, …; left out: found out")
      ->check(not_empty());
  verb.add_option("--option", source_options,
                  "NAME=VALUE: an option of that source, such as record_bytes=3073 (forebay explain SOURCE)")
      ->allow_extra_args(false);
}

Result<InspectOptions> SourceFlags::options() const {
  InspectOptions out{.source = source, .go_on = [] { return !interrupted(); }};
  for (const std::string& each : source_options) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{Code::config, Detail::invalid_argument, "--option: NAME=VALUE is expected; found " + quote(each)};
    const std::string text = each.substr(equals + 1);
    auto value = parse_json(text);  // what is no JSON is text
    out.options.set(each.substr(0, equals), value.ok() ? *std::move(value) : Json{text});
  }
  return out;
}

Result<bool> SourceFlags::names_document() const {
  if (paths.size() != 1 || !source.empty()) return false;
  if (paths[0].starts_with("/dev/")) return true;  // a pipe can be read once
  // A pattern or a folder is looked at later.
  const auto document = looks_like_document(paths[0]);
  return document.ok() && *document;
}

}  // namespace forebay::cli
