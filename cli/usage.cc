// SPDX-License-Identifier: Apache-2.0
#include "usage.h"

#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <forebay/messages.h>

namespace forebay::cli {

namespace {

using Names = std::vector<std::string>;

std::string hint(const std::string& name, const Names& known) {
  const std::string near = nearest(name, known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

Names verbs_of(const CLI::App& app) {
  Names out;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    out.push_back(verb->get_name());
  return out;
}

/// "--threads", …; the words of the command line that are options.
Names options_of(const CLI::App& verb) {
  Names out;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  }
  return out;
}

Names positionals_of(const CLI::App& verb) {
  Names out;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_positional()) out.push_back(option->get_name(true));
  }
  return out;
}

std::string unexpected(const CLI::App& verb, const std::string& word) {
  if (!word.starts_with('-') || word == "-") {
    return fmt::format("{} is one argument too many: `forebay {}` takes {}", quote(word), verb.get_name(),
                       fmt::join(positionals_of(verb), " "));
  }
  const std::string name = word.substr(0, word.find('='));
  const Names known = options_of(verb);
  return fmt::format("`forebay {}` has no option {}{} it has: {}", verb.get_name(), quote(name),
                     known.empty()               ? ""
                     : hint(name, known).empty() ? ";"
                                                 : hint(name, known),
                     fmt::join(known, ", "));
}

}  // namespace

std::string usage_text(const CLI::App& app, const CLI::ParseError& problem, int argc, char** argv) {
  const Names verbs = verbs_of(app);
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    for (const std::string word : std::span{argv, static_cast<std::size_t>(argc)}.subspan(1)) {
      if (word == "--json") continue;
      const std::string near = hint(word, verbs);
      return fmt::format("there is no {} {}{} verbs: {}", word.starts_with('-') ? "option" : "verb", quote(word),
                         near.empty() ? ";" : near, fmt::join(verbs, ", "));
    }
    return fmt::format("no verb is given; verbs: {}", fmt::join(verbs, ", "));
  }
  const CLI::App& verb = *chosen.front();
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) == nullptr) return problem.what();
  Names words = verb.remaining(true);
  const Names before = app.remaining();
  words.insert(words.begin(), before.begin(), before.end());
  Names out;
  for (const std::string& word : words) out.push_back(unexpected(verb, word));
  return fmt::format("{}", fmt::join(out, "\n"));
}

bool wants_json(int argc, char** argv) {
  for (const std::string_view word : std::span{argv, static_cast<std::size_t>(argc)}.subspan(argc > 0 ? 1 : 0)) {
    if (word == "--") return false;
    if (word == "--json") return true;
  }
  return false;
}

}  // namespace forebay::cli
