// SPDX-License-Identifier: Apache-2.0
#include "steps/audio/mel_step.h"

#include <array>
#include <optional>

#include <fmt/core.h>

#include "steps/audio/rates.h"
#include "steps/audio/spectrum.h"
#include "steps/output.h"
#include "steps/text/strings.h"

namespace forebay::steps {
namespace {

class MelMemory final : public StepMemory {
 public:
  explicit MelMemory(const MelPlan& plan) : worker{plan} {}
  [[nodiscard]] std::int64_t bytes() const override { return worker.bytes(); }
  MelWorker worker;
};

/// Makes a spectrogram of each row. The plan owns the step. It is immutable: any number of workers call it at once.
class MelMaking final : public Step {
 public:
  MelMaking(MelPlan plan, ColumnId from, ColumnId to) : plan_{std::move(plan)}, from_{from}, to_{to} {}

  [[nodiscard]] std::unique_ptr<StepMemory> memory() const override { return std::make_unique<MelMemory>(plan_); }

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory* kept) const override {
    const Column& in = block[from_];
    Column& out = block[to_];
    FOREBAY_DO(begin_output(out, out.shape, in.rows).at(Place{.feature = plan_.options().tensor}));
    for (std::int64_t row = 0; row < in.rows; ++row) {
      const auto [begin, end] = elements_of(in, row);
      const std::int64_t frames = plan_.frames(end - begin);
      const std::int64_t values = frames * plan_.values();
      if (values > max_elements) {
        return data_fault(plan_.options().tensor, row,
                          fmt::format("{} samples make more than {} values", end - begin, max_elements));
      }
      std::shared_ptr<void> charge;
      if (context.budget != nullptr) {
        const std::int64_t elements = values + frames * plan_.options().n_mels;
        FOREBAY_TRY(charge, context.budget->charge(elements * static_cast<std::int64_t>(sizeof(float))));
      }
      float* const to = room(out, row, values);
      const std::span<const float> samples{in.values.as<float>() + begin, static_cast<std::size_t>(end - begin)};
      static_cast<MelMemory&>(*kept).worker.run(samples, to, context.stop);
      if (!out.fixed()) out.end_row({&frames, 1});
    }
    return {};
  }

 private:
  static float* room(Column& out, std::int64_t row, std::int64_t values) {
    if (out.fixed()) return out.values.as<float>() + row * values;
    return reinterpret_cast<float*>(out.values.extend(static_cast<std::size_t>(values) * sizeof(float)));
  }

  const MelPlan plan_;
  const ColumnId from_, to_;
};

/// The rate of the samples, as far as decode_audio says it.
Result<std::optional<std::int64_t>> rate_of(const LogMel& options, const ColumnSpec& samples) {
  const auto stated = rate_in(samples);
  if (!stated) return options.sample_rate;
  if (*stated == 0 && !options.sample_rate) {
    return refusal(fmt::format("'{0}' keeps the sample rate of each file, and the frequencies depend on it; say "
                               "`sample_rate` in decode_audio, which resamples files of another one, or here if all "
                               "files have it",
                               options.tensor))
        .at(Field{"sample_rate"});
  }
  if (*stated != 0 && options.sample_rate.value_or(*stated) != *stated) {
    return refusal(fmt::format("decode_audio makes {} samples a second of '{}', found {}; leave it out here", *stated,
                               options.tensor, *options.sample_rate))
        .at(Field{"sample_rate"});
  }
  return *stated != 0 ? stated : options.sample_rate;
}

}  // namespace

Result<Bound<Step>> bind_mel(const LogMel& options, std::int64_t n_mfcc, double lifter, const Schema& in) {
  FOREBAY_DO(check_mel_options(options));
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  if (in[from].dtype != DType::float32 || in[from].shape.rank() != 1) {
    return refusal(fmt::format("'{}' is {} of shape {}; spectrograms are made of float32 samples of one axis, as "
                               "decode_audio makes with `mono`",
                               options.tensor, to_string(in[from].dtype), in[from].shape.text()))
        .at(Field{"tensor"});
  }
  if (options.out) FOREBAY_DO(check_new_name(*options.out, in).at(Field{"out"}));
  LogMel with_rate = options;
  FOREBAY_TRY(const std::optional<std::int64_t> rate, rate_of(options, in[from]));
  with_rate.sample_rate = rate.value_or(LogMel::usual_rate);
  FOREBAY_DO(check_mel_options(with_rate));
  MelPlan plan{with_rate, n_mfcc, lifter};
  ColumnSpec made = in[from];
  made.logical.clear();
  made.name = options.out ? std::string{*options.out} : std::string{options.tensor};
  const std::int64_t samples = made.shape[0];
  made.shape = Shape{samples == unknown_dim ? unknown_dim : plan.frames(samples), plan.values()};
  if (made.shape.count() > max_elements)
    return refusal(fmt::format("a row would have more than {} values", max_elements)).at(Field{"n_mels"});
  made.pad = {};
  Schema out = in;
  const ColumnId to = out.put(std::move(made));
  return Bound<Step>{.op = std::make_unique<MelMaking>(std::move(plan), from, to),
                     .out = std::move(out),
                     .reads = {from},
                     .expensive = true};
}

void read_mel_options(const Json& options, LogMel& out) {
  std::vector<Error> none;  // faults of the types are already reported
  const auto take = [&]<class T>(const char* name, T& member) {
    const Json* const value = options.find(name);
    if (value == nullptr) return;
    if (auto found = JsonCodec<T>::read(*value, none)) member = *std::move(found);
  };
  take("sample_rate", out.sample_rate);
  take("n_fft", out.n_fft);
  take("win_length", out.win_length);
  take("power", out.power);
  take("n_mels", out.n_mels);
  take("fmin", out.fmin);
  take("fmax", out.fmax);
  take("floor", out.floor);
  take("top_db", out.top_db);
}

}  // namespace forebay::steps
