// SPDX-License-Identifier: Apache-2.0
#include "tools/arrow/node.h"

#include <cstring>
#include <utility>

namespace forebay {

namespace tools {

namespace {

/// What a struct of the interface points to; the struct owns it.
template <class Struct>
struct Children {
  std::vector<Struct> children;
  std::vector<Struct*> pointers;

  void point(Struct& out) {
    for (Struct& child : children) pointers.push_back(&child);
    out.n_children = std::ssize(children);
    out.children = pointers.empty() ? nullptr : pointers.data();
  }
  /// A child that somebody took over has no `release` any more.
  void release() {
    for (Struct& child : children) {
      if (child.release != nullptr) child.release(&child);
    }
  }
};

struct HeldSchema : Children<ArrowSchema> {
  std::string format, name, metadata;
};

struct HeldArray : Children<ArrowArray> {
  std::vector<const void*> buffers;
  std::vector<std::shared_ptr<void>> owners;
};

template <class Held, class Struct>
void release_held(Struct* out) {
  const std::unique_ptr<Held> held{static_cast<Held*>(out->private_data)};
  held->release();
  out->release = nullptr;
}

}  // namespace

void publish_schema(const ArrowNode& node, ArrowSchema& out) {
  auto held = std::make_unique<HeldSchema>();
  held->format = node.format;
  held->name = node.name;
  held->metadata = node.metadata;
  held->children.resize(node.children.size());
  for (std::size_t i = 0; i < node.children.size(); ++i) publish_schema(node.children[i], held->children[i]);
  out = {};
  out.format = held->format.c_str();
  out.name = held->name.c_str();
  out.metadata = held->metadata.empty() ? nullptr : held->metadata.data();
  out.flags = ARROW_FLAG_NULLABLE;
  held->point(out);
  out.release = &release_held<HeldSchema, ArrowSchema>;
  out.private_data = held.release();
}

void publish_array(ArrowNode node, ArrowArray& out) {
  auto held = std::make_unique<HeldArray>();
  held->buffers = std::move(node.buffers);
  held->owners = std::move(node.owners);
  held->children.resize(node.children.size());
  for (std::size_t i = 0; i < node.children.size(); ++i) publish_array(std::move(node.children[i]), held->children[i]);
  out = {};
  out.length = node.length;
  out.null_count = node.nulls;
  out.n_buffers = std::ssize(held->buffers);
  out.buffers = held->buffers.data();
  held->point(out);
  out.release = &release_held<HeldArray, ArrowArray>;
  out.private_data = held.release();
}

namespace {

/// A record batch on its way out of a stream.
struct HeldStream {
  ArrowArray array{};
  ArrowNode type;  // of the schema, which may be asked for several times
};

/// The bytes of metadata that `publish_schema` has written: a number of texts, and each text after its length.
std::string metadata_of(const char* bytes) {
  if (bytes == nullptr) return {};
  const auto number_at = [bytes](std::size_t at) {
    std::int32_t number = 0;
    std::memcpy(&number, bytes + at, sizeof(number));
    return static_cast<std::size_t>(number);
  };
  std::size_t size = sizeof(std::int32_t);
  for (std::size_t texts = 2 * number_at(0); texts > 0; --texts) size += sizeof(std::int32_t) + number_at(size);
  return {bytes, size};
}

/// A schema as nodes: texts and children only.
ArrowNode node_of(const ArrowSchema& schema) {
  ArrowNode out{.format = schema.format, .name = schema.name, .metadata = metadata_of(schema.metadata)};
  for (std::int64_t i = 0; i < schema.n_children; ++i) out.children.push_back(node_of(*schema.children[i]));
  return out;
}

int schema_of_stream(ArrowArrayStream* stream, ArrowSchema* out) {
  publish_schema(static_cast<HeldStream*>(stream->private_data)->type, *out);
  return 0;
}

int next_of_stream(ArrowArrayStream* stream, ArrowArray* out) {
  *out = std::exchange(static_cast<HeldStream*>(stream->private_data)->array, {});
  return 0;
}

void release_stream(ArrowArrayStream* stream) {
  const std::unique_ptr<HeldStream> held{static_cast<HeldStream*>(stream->private_data)};
  if (held->array.release != nullptr) held->array.release(&held->array);
  stream->release = nullptr;
}

}  // namespace

}  // namespace tools

void export_stream(ArrowSchema& schema, ArrowArray& array, ArrowArrayStream& stream) {
  auto held = std::make_unique<tools::HeldStream>();
  held->type = tools::node_of(schema);
  schema.release(&schema);
  held->array = std::exchange(array, {});
  stream = {};
  stream.get_schema = &tools::schema_of_stream;
  stream.get_next = &tools::next_of_stream;
  stream.get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; };
  stream.release = &tools::release_stream;
  stream.private_data = held.release();
}

}  // namespace forebay
