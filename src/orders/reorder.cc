// SPDX-License-Identifier: Apache-2.0
#include <forebay/orders/reorder.h>
#include <forebay/plugin.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orders/indexed_walk.h"

namespace forebay {

template <>
struct EnumNames<Reordered> {
  static constexpr std::array<std::string_view, 2> names{"records", "files"};
};

namespace orders {

OrderType interleave();  // of interleave.cc: reads files one after the other

namespace {

/// Asks for the order of an epoch. Fails where it names what is not there; `kind` says in messages what that is.
Result<Function::Integers> ask_for_order(const Ask& ask, const std::string& name, std::int64_t epoch, std::int64_t all,
                                         const std::string& kind) {
  FOREBAY_TRY(Function::Integers order, ask(std::array{epoch, all}));
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] >= 0 && order[i] < all) continue;
    return Error{Code::data, Detail::invalid_argument,
                 "the order of epoch " + std::to_string(epoch) + " that function '" + name + "' gives: item " +
                     std::to_string(i) + " is " + std::to_string(order[i]) + ", and there are " + std::to_string(all) +
                     " " + kind + ", numbered from 0"};
  }
  return order;
}

/// The order that a function of the program gives for each pass.
class Asked final : public Route {
 public:
  Asked(Ask ask, std::string name, Reader& reader) : ask_{std::move(ask)}, name_{std::move(name)}, reader_{reader} {}

  void begin(std::int64_t epoch) override {
    epoch_ = epoch;
    order_.clear();
    charge_.reset();
  }

  Result<std::int64_t> plan(const Census& census) override {
    FOREBAY_TRY(Function::Integers order, ask_for_order(ask_, name_, epoch_, census.records(), "records"));
    FOREBAY_TRY(charge_, reader_.charge(static_cast<std::int64_t>(order.size() * sizeof(std::int64_t)))
                             .at("the order that function '" + name_ + "' gives"));
    order_ = std::move(order);
    return static_cast<std::int64_t>(order_.size());
  }

  void numbers(std::int64_t first, std::span<std::uint64_t> out) override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::uint64_t>(order_[static_cast<std::size_t>(first) + i]);
  }

 private:
  const Ask ask_;
  const std::string name_;
  Reader& reader_;
  std::int64_t epoch_ = 0;
  Function::Integers order_;
  std::shared_ptr<void> charge_;  // of order_
};

/// The files of a pass in the order that a function of the program gives. The run owns the order; one thread at a time
/// calls it. `pull` fails when the upstream or the function does, and for numbers of files that are not there.
class AskedFiles final : public Handles {
 public:
  AskedFiles(Ask ask, std::string name, std::unique_ptr<Handles> upstream)
      : ask_{std::move(ask)}, name_{std::move(name)}, upstream_{std::move(upstream)} {}

  void begin(std::int64_t epoch) override {
    epoch_ = epoch;
    files_.clear();
    order_.reset();
    listed_ = false;
    next_ = 0;
    upstream_->begin(epoch);
  }

  Result<std::size_t> pull(std::span<Handle> out) override {
    while (!listed_) {
      Handle file;
      FOREBAY_TRY(const std::size_t count, upstream_->pull({&file, 1}));
      if (count > 0) files_.push_back(file);
      listed_ = count == 0;
    }
    if (!order_) {
      FOREBAY_TRY(order_, ask_for_order(ask_, name_, epoch_, std::ssize(files_), "files"));
    }
    const std::size_t count = std::min(out.size(), order_->size() - next_);
    for (std::size_t i = 0; i < count; ++i) out[i] = files_[static_cast<std::size_t>((*order_)[next_ + i])];
    next_ += count;
    return count;
  }

 private:
  const Ask ask_;
  const std::string name_;
  const std::unique_ptr<Handles> upstream_;
  std::int64_t epoch_ = 0;
  std::vector<Handle> files_;
  bool listed_ = false;  // files_ has all files of the pass
  std::optional<Function::Integers> order_;
  std::size_t next_ = 0;  // of order_
};

Result<Ordering> bind(const Reorder& options) {
  Ordering out;
  out.grain = Grain::files_to_records;
  out.repeats = true;
  out.count = [](std::int64_t n) -> std::optional<std::int64_t> {
    if (n == 0) return 0;
    return std::nullopt;
  };
  out.asks = AskedFunction{.name = options.bind, .option = {"bind"}};
  if (options.of == Reordered::records) {
    out.random_access = true;
    out.make = [options](OrderContext context) -> std::unique_ptr<Handles> {
      auto route = std::make_unique<Asked>(context.ask, options.bind, *context.reader);
      return walk_by_index(std::move(route), std::move(context));
    };
    return out;
  }
  FOREBAY_TRY(const Ordering reading, interleave().bind(Json::object()));
  out.make = [options, read = reading.make](OrderContext context) -> std::unique_ptr<Handles> {
    context.upstream = std::make_unique<AskedFiles>(context.ask, options.bind, std::move(context.upstream));
    return read(std::move(context));
  };
  return out;
}

}  // namespace

OrderType reorder() {
  return describe<OrderType, Reorder>(
             "reorder",
             "Gives the records of all files, or the files, in the order that a function of the program says for each "
             "epoch.",
             bind)
      .required(
          "bind", &Reorder::bind,
          "Name of the function that the program binds. It is asked with (epoch, how many there are), and answers "
          "with the numbers of those to give, from 0 on, in any order and any number of times.")
      .field(
          "of", &Reorder::of,
          "What the numbers name: records, by the indexes of the files; or files, which are read one after the other.")
      .example({.options = R"({"bind": "backwards"})", .in = R"([1, 2, 3])", .out = R"([3, 2, 1])"});
}

}  // namespace orders
}  // namespace forebay
