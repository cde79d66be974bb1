// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <span>

#include <forebay/steps/decode_image.h>

#include "steps/image/formats/image_reader.h"
#include "steps/image/region.h"
#include "steps/image/resample.h"

namespace forebay::steps {

/// What one worker keeps: the decoders of the libraries, made when a format is first seen, and the sums of the resize.
class ImageMemory final : public StepMemory {
 public:
  [[nodiscard]] std::int64_t bytes() const override { return resampler.bytes(); }
  ImageReader& reader_of(ImageFormat format);

  AxisWeights rows, columns;
  Resampler resampler;

 private:
  std::array<std::unique_ptr<ImageReader>, image_formats> readers_;
};

/// Decodes a column of files to pixels. The plan owns the step. It is immutable: any number of workers call it at once.
class ImageDecoding final : public Step {
 public:
  ImageDecoding(DecodeImage options, ColumnId from, ColumnId to) : options_{std::move(options)}, from_{from}, to_{to} {}

  [[nodiscard]] std::unique_ptr<StepMemory> memory() const override { return std::make_unique<ImageMemory>(); }
  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory* kept) const override;

 private:
  struct Work;

  Result<void> decode(ImageReader& reader, std::span<const std::byte> bytes, std::int64_t row, Column& out,
                      const StepContext& context, ImageMemory& memory) const;
  void check_format(ImageFormat found, std::int64_t row, const StepContext& context) const;
  [[nodiscard]] Result<void> check_size(const ImageHeader& header) const;
  [[nodiscard]] Work plan(const ImageHeader& header, std::int64_t row, const StepContext& context) const;
  Result<std::byte*> room(const Work& work, std::int64_t row, Column& out, const StepContext& context,
                          std::shared_ptr<void>& charge) const;
  [[nodiscard]] PixelValues values(const Work& work) const;
  Result<void> copy(ImageReader& reader, const Work& work, const PixelTarget& target, const StopCheck* stop) const;
  Result<void> resize(ImageReader& reader, const Work& work, const PixelTarget& target, const StopCheck* stop,
                      ImageMemory& memory) const;
  [[nodiscard]] int scale_for(const Work& work, std::int64_t columns, std::int64_t rows) const;
  static void make_blank(std::int64_t row, std::size_t before, Column& out);
  void end_row(const Work& work, Column& out) const;

  const DecodeImage options_;
  const ColumnId from_, to_;
};

/// The shape of a decoded image.
[[nodiscard]] Shape image_shape(const DecodeImage& options);

}  // namespace forebay::steps
