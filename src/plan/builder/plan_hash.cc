// SPDX-License-Identifier: Apache-2.0
#include "plan/builder/plan_hash.h"

#include <limits>

#include <fmt/core.h>

#include "base/draw.h"
#include "io/patterns.h"
#include "plan/bind/attributes.h"
#include "plan/bind/lookups.h"
#include "plan/canonical.h"
#include "plan/text.h"

namespace forebay::plan {

using engine::Program;

namespace {

FilesPlace files_place(const BoundDocument& document) {
  const BoundDocument& first = document.root();
  FilesPlace out = first.files_place;
  for (const auto& branch : first.branches.each) out.branches.push_back(files_place(*branch));
  return out;
}

/// Adds the content of the small files that orders and steps read, and what the source has read of its files for the
/// decoder, such as the names in a header row.
void hash_files(const std::string& where, const Stages& stages, const BoundColumns& columns, Hashes& hashes) {
  if (stages.decided) {
    const std::uint64_t hash = fnv1a(stages.decided->text());
    hashes.whole = hashes.whole * 31 + hash;
    hashes.sections.emplace_back(where + std::string{decided_section}, hash);
  }
  for (auto& [name, hash] : lookup_hashes(stages, columns.file_hashes)) {
    hashes.whole = hashes.whole * 31 + hash;
    hashes.sections.emplace_back(where + name, hash);
  }
}

/// Adds what the stages read of small files, those of the stretches before the document, too.
void hash_stretches(const BoundDocument& document, const std::string& where, Hashes& hashes) {
  for (std::size_t i = 0; document.made && i < document.made->stretches.size(); ++i) {
    const BoundDocument& each = *document.made->stretches[i];
    hash_files(fmt::format("{}stretch/{}: ", where, i), each.stages, each.columns, hashes);
  }
  hash_files(where, document.stages, document.columns, hashes);
}

/// Adds the files of a branch, and the columns of rows that come ready.
void hash_branch(const BoundDocument& branch, const std::string& name, const Program& program, Hashes& hashes) {
  hash_stretches(branch, name + ": ", hashes);
  const BoundDocument& first = branch.root();
  const Program& reads = engine::innermost(program);
  for (std::size_t i = 0; i < first.branches.each.size(); ++i)
    hash_branch(*first.branches.each[i], fmt::format("{}/branch/{}", name, i), reads.branches[i], hashes);
  for (const std::string& file : reads.source.files) hashes.whole = hashes.whole * 31 + fnv1a(file);
  if (first.stages.decoder_stage || !first.branches.each.empty()) return;
  const std::uint64_t rows = fnv1a(columns_text(first.columns.decoder_schema));
  hashes.whole = hashes.whole * 31 + rows;
  hashes.sections.emplace_back("rows of " + name, rows);
}

}  // namespace

std::uint64_t hash_plan(const BoundDocument& document, const Program& program, const Registry& registry,
                        PlanAccess::Parts& parts) {
  // The hash uses the paths as the document gives them: it does not change when a project moves with its data.
  const BoundBranches& branches = document.root().branches;
  parts.files = files_place(document);
  parts.without_files = without_files(document.written, parts.files);
  const Program& reads = engine::innermost(program);
  Hashes hashes = hashes_of(parts.without_files, parts.files, reads.source.files, registry);
  hash_stretches(document, "", hashes);
  for (std::size_t i = 0; i < branches.each.size(); ++i)
    hash_branch(*branches.each[i], fmt::format("branch/{}", i), reads.branches[i], hashes);
  if (reads.source.rows) {
    const std::uint64_t rows = fnv1a(columns_text(reads.source.rows->schema));
    hashes.whole = hashes.whole * 31 + rows;
    hashes.sections.emplace_back("rows", rows);
  }
  std::uint64_t stream = 0;
  for (const auto& [name, hash] : hashes.sections) stream = mix(stream ^ hash ^ fnv1a(name));
  if (branches.combining.passes)
    stream = mix(stream ^ branches.combining.passes(std::numeric_limits<std::int64_t>::max()));
  parts.hash = hashes.whole;
  parts.sections = std::move(hashes.sections);
  parts.folder = io::current_folder();
  return stream;
}

void sign_branches(const BoundDocument& document, const Registry& registry, Program& program) {
  for (std::size_t i = 0; i < program.branches.size(); ++i) {
    const BoundDocument& branch = *document.branches.each[i];
    Json records = Json::object();
    for (const char* const key : {"source", "decode"}) {
      if (const Json* const value = branch.written.find(key)) records.set(key, *value);
    }
    const FilesPlace where = files_place(branch);
    Hashes hashes = hashes_of(without_files(records, where), where, {}, registry);
    hash_files("", branch.stages, branch.columns, hashes);
    sign_attributes(branch.stages, hashes.sections, registry, program.branches[i]);
  }
}

}  // namespace forebay::plan
