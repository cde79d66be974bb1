// SPDX-License-Identifier: Apache-2.0
// Read this first if you write a batcher.
#include <forebay/batchers/batch.h>
#include <forebay/plugin.h>

#include <algorithm>

namespace forebay {

template <>
struct EnumNames<Remainder> {
  static constexpr std::array<std::string_view, 4> names{"keep", "drop", "pad", "repeat"};
};

template <>
struct FieldsOf<PadTensor> {
  static const Fields<PadTensor>& get() {
    static const Fields<PadTensor> fields =
        Fields<PadTensor>{}
            .required("tensor", &PadTensor::tensor, "Tensor to pad.")
            .field("shape", &PadTensor::shape,
                   "Sizes to pad to, without the batch axis; -1 or null: the batch's maximum.")
            .field("value", &PadTensor::value, "What to pad with; null: 0, false or \"\".");
    return fields;
  }
};

using PadList = JsonCodec<std::vector<PadTensor>>;

/// Stores the faults of an entry in the entry; `bind` reports them in the order of the entries. Only a value that is
/// neither a boolean nor a list is a fault here.
std::optional<Pad> JsonCodec<Pad>::read(const Json& json, std::vector<Error>& faults) {
  if (json.is(Json::Kind::boolean)) return json.boolean();
  if (!json.is(Json::Kind::array)) return fault_type(json, "a list", faults), std::nullopt;
  std::vector<PadTensor> out;
  std::size_t found = 0;
  for (const Json& item : json.items()) {
    std::vector<Error> wrong;
    auto entry = JsonCodec<PadTensor>::read(item, wrong);
    if (!entry) entry = PadTensor{.tensor = "", .faults = std::move(wrong)};
    found += entry->faults.size();
    out.push_back(*std::move(entry));
    if (found >= max_item_faults) break;
  }
  return out;
}

Json JsonCodec<Pad>::write(const Pad& value) {
  if (const bool* all = std::get_if<bool>(&value)) return *all;
  return PadList::write(std::get<std::vector<PadTensor>>(value));
}

Json JsonCodec<Pad>::schema() {
  Json out = Json::object();
  out.set("anyOf", Json::array({JsonCodec<bool>::schema(), PadList::schema()}));
  return out;
}

std::string JsonCodec<Pad>::python_type() { return "bool | " + PadList::python_type(); }

void JsonCodec<Pad>::add_tensors(const Json& json, std::vector<std::string>& names) {
  PadList::add_tensors(json, names);
}

namespace batchers {
namespace {

/// Cuts batches of `size` rows; `remainder` decides about a last one that is shorter. The engine owns the batcher and
/// calls it on one thread at a time. `cut` fails when the stream does, or when the rows exceed the budget.
class FixedBatcher final : public Batcher {
 public:
  FixedBatcher(const FixedBatch& options, Reader& reader)
      : size_{static_cast<std::size_t>(options.size)}, remainder_{options.remainder}, reader_{reader} {}

  Result<std::int64_t> cut(Handles& in, std::vector<Handle>& rows) override {
    std::size_t count = rows.size();
    std::shared_ptr<void> charge;  // of the new room; the engine counts it when this call returns
    while (count < size_) {
      if (count == rows.size()) FOREBAY_DO(make_room(rows, charge));
      auto pulled = in.pull(std::span{rows}.subspan(count));
      if (!pulled.ok()) return rows.resize(count), pulled.error();
      if (*pulled == 0) break;
      count += *pulled;
    }
    rows.resize(count);
    if (count == size_ || count == 0 || remainder_ == Remainder::keep) return static_cast<std::int64_t>(count);
    if (remainder_ == Remainder::pad) return static_cast<std::int64_t>(size_);
    if (remainder_ == Remainder::repeat) return repeat(rows, charge);
    reader_.drop(rows);
    rows.clear();
    return 0;
  }

 private:
  /// Grows `rows` to the room that an earlier batch had, else doubles it: the stream may have much fewer rows than
  /// `size`.
  Result<void> make_room(std::vector<Handle>& rows, std::shared_ptr<void>& charge) {
    const std::size_t room = std::min(size_, std::max({min_room, rows.capacity(), 2 * rows.size()}));
    FOREBAY_DO(charge_room(room, rows, charge));
    rows.resize(room);
    return {};
  }

  /// Charges `room` rows to the budget, unless `rows` has that room. Fails when they exceed the budget.
  Result<void> charge_room(std::size_t room, const std::vector<Handle>& rows, std::shared_ptr<void>& charge) {
    if (room <= std::max(min_room, rows.capacity())) return {};
    FOREBAY_TRY(charge, reader_.charge(static_cast<std::int64_t>(room) * bytes_a_row)
                            .at("a batch with room for " + std::to_string(room) + " rows"));
    return {};
  }

  /// Fills the batch with its own records, from the first one on. Returns the number of rows.
  Result<std::int64_t> repeat(std::vector<Handle>& rows, std::shared_ptr<void>& charge) {
    FOREBAY_DO(charge_room(size_, rows, charge));
    const std::size_t count = rows.size();
    for (std::size_t i = 0; rows.size() < size_; ++i) rows.push_back(rows[i]);
    reader_.hold(std::span{rows}.subspan(count));
    return static_cast<std::int64_t>(size_);
  }

  static constexpr std::size_t min_room = 4096;
  const std::size_t size_;
  const Remainder remainder_;
  Reader& reader_;
};

/// Adds the tensors that `pad` names to `batching`, with their sizes and values. Returns whether anything is padded.
/// Fails with the faults of all entries.
Result<bool> read_padding(const Pad& pad, const Schema& in, Batching& batching) {
  if (const bool* all = std::get_if<bool>(&pad)) return *all;
  std::vector<Error> faults;
  std::size_t index = 0;
  for (const PadTensor& entry : std::get<std::vector<PadTensor>>(pad)) {
    const std::string name = std::to_string(index++);
    if (faults.size() >= max_item_faults) break;
    faults.insert(faults.end(), entry.faults.begin(), entry.faults.end());
    if (!entry.faults.empty()) continue;
    const auto column = in.find(entry.tensor);
    if (!column.ok()) {
      faults.push_back(column.error().at(Field{"pad", name, "tensor"}));
      continue;
    }
    const std::size_t rank = in[*column].shape.rank();
    const Shape shape = entry.shape.value_or(Shape{std::vector<std::int64_t>(rank, unknown_dim)});
    if (shape.rank() != rank) {
      faults.push_back(Error{Code::config, Detail::invalid_argument,
                             "expected " + std::to_string(rank) + " pad dimensions for tensor " + entry.tensor +
                                 ", got " + std::to_string(shape.rank())}
                           .at(Field{"pad", name, "shape"}));
      continue;
    }
    batching.padding.emplace_back(entry.tensor, Padding{.shape = shape, .value = entry.value});
    batching.reads.push_back(*column);
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return !batching.padding.empty();
}

Result<Batching> bind(const FixedBatch& options, const Schema& in) {
  Batching batching;
  FOREBAY_TRY(const bool pads, read_padding(options.pad, in, batching));
  if (pads && options.require_equal)
    return Error{Code::config, Detail::invalid_argument, "`pad` and `require_equal` exclude each other"};
  if (pads) batching.delivery = Delivery::padded;
  if (options.require_equal) batching.delivery = Delivery::equal;
  batching.make = [options](Reader& reader) { return std::make_unique<FixedBatcher>(options, reader); };
  batching.make_sized = [options](Reader& reader, std::int64_t rows) {
    FixedBatch sized = options;
    sized.size = rows;
    return std::make_unique<FixedBatcher>(sized, reader);
  };
  batching.fixed = true;
  batching.remainder = options.remainder;
  batching.max_rows = options.size;
  batching.batches = [options](std::int64_t rows) -> std::optional<std::int64_t> {
    return rows / options.size + (options.remainder != Remainder::drop && rows % options.size != 0 ? 1 : 0);
  };
  return batching;
}

}  // namespace

BatcherType batch() {
  return describe<BatcherType, FixedBatch>("batch", "Cuts the stream into batches of one size.", bind)
      .required("size", &FixedBatch::size, "Rows of a batch.", {.min = 1, .max = 100'000'000})
      .field("remainder", &FixedBatch::remainder,
             "What becomes of a last batch that is not full: keep it short, drop it, pad it with empty rows, or repeat "
             "its own records, from its first one on.")
      .field("pad", &FixedBatch::pad,
             "false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of {tensor, shape, "
             "value}.")
      .field("require_equal", &FixedBatch::require_equal,
             "Refuse rows of unequal shape instead of delivering them ragged.")
      .example({.options = R"({"size": 2})", .in = R"([1, 2, 3, 4, 5])", .out = R"([[1, 2], [3, 4], [5]])"})
      .example({.options = R"({"size": 2, "remainder": "drop"})", .in = R"([1, 2, 3])", .out = R"([[1, 2]])"})
      .example({.options = R"({"size": 3, "remainder": "repeat"})",
                .in = R"([1, 2, 3, 4])",
                .out = R"([[1, 2, 3], [4, 4, 4]])"});
}

}  // namespace batchers
}  // namespace forebay
