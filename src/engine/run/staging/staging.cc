// SPDX-License-Identifier: Apache-2.0
#include <forebay/staging.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace forebay {

namespace {

class OnHost final : public StagedTensors {
 public:
  using StagedTensors::StagedTensors;
  Result<void> wait(void*) override { return {}; }
  Result<bool> ready() const override { return true; }
};

class HostStaging final : public Staging {
 public:
  Result<std::shared_ptr<StagedTensors>> begin(std::span<const Tensor> host) override {
    if (std::ranges::any_of(host, [](const Tensor& tensor) { return tensor.dtype == DType::string; }))
      return Error{Code::config, Detail::invalid_argument, "strings cannot be staged; they stay in the batch"};
    return std::shared_ptr<StagedTensors>{std::make_shared<OnHost>(std::vector<Tensor>(host.begin(), host.end()))};
  }
  [[nodiscard]] std::string device() const override { return "cpu"; }
};

}  // namespace

std::shared_ptr<Staging> cpu_staging() { return std::make_shared<HostStaging>(); }

const Tensor* StagedBatch::find(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr : &staged->tensors[static_cast<std::size_t>(found - names.begin())];
}

/// Takes batches from the loader: waits for the first one, and takes others while they are ready.
void StagedBatches::fill() {
  while (!failure_ && !ended_ && std::ssize(line_) <= ahead_) {
    bool timed_out = false;
    const auto timeout = line_.empty() ? std::chrono::milliseconds::max() : std::chrono::milliseconds{0};
    auto batch = loader_->next_within(timeout, timed_out);
    if (timed_out) return;
    if (!batch.ok()) {
      failure_ = batch.error();
    } else if (!*batch) {
      ended_ = true;
    } else {
      stage(std::move(**batch));
    }
  }
}

void StagedBatches::stage(Batch batch) {
  StagedBatch out{.batch = std::move(batch)};
  std::vector<Tensor> tensors;
  for (const std::string& name : out.batch.names()) {
    const Value& value = *out.batch.find(name);
    if (value.kind != Value::Kind::dense || value.values.dtype == DType::string) continue;
    tensors.push_back(value.values);
    out.names.push_back(name);
  }
  auto staged = staging_->begin(tensors);
  if (!staged.ok()) {
    failure_ = staged.error();
    return;
  }
  out.staged = *std::move(staged);
  line_.push_back(std::move(out));
}

Result<std::optional<StagedBatch>> StagedBatches::next() {
  if (!begin_) {
    FOREBAY_TRY(begin_, loader_->position());
  }
  fill();
  if (line_.empty()) {
    if (failure_) return *failure_;
    return std::optional<StagedBatch>{};
  }
  std::optional<StagedBatch> out = std::move(line_.front());
  line_.pop_front();
  given_ = out->batch.position();
  return out;
}

Result<Json> StagedBatches::state() const {
  if (given_) return loader_->state_at(*given_);
  return begin_ ? loader_->state_at(*begin_) : loader_->state();
}

Result<void> StagedBatches::restore(const Json& state, std::span<const std::string> accept) {
  FOREBAY_DO(loader_->restore(state, accept));
  line_.clear();
  failure_.reset();
  ended_ = false;
  given_.reset();
  begin_.reset();
  return {};
}

}  // namespace forebay
