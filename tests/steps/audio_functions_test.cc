// SPDX-License-Identifier: Apache-2.0
#include <forebay/audio.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay {
namespace {

using testing::HasSubstr;

/// A WAV file of two samples of 16 bits, 0.5 and -0.5.
constexpr std::array<unsigned char, 48> half_wave{
    'R',  'I',  'F', 'F', 40,   0,    0, 0, 'W', 'A', 'V', 'E', 'f', 'm', 't', ' ', 16, 0, 0, 0, 1, 0,  1, 0,
    0x40, 0x1f, 0,   0,   0x80, 0x3e, 0, 0, 2,   0,   16,  0,   'd', 'a', 't', 'a', 4,  0, 0, 0, 0, 64, 0, 192};

std::string refused(std::string_view options) {
  const std::vector<float> samples(100);
  const auto made = mfcc(samples, *parse_json(options));
  return made.ok() ? "made" : made.error().text();
}

TEST(AudioFunctions, AClipHasItsSamplesAndItsRate) {
  const auto clip = decode_audio(std::as_bytes(std::span{half_wave}), DecodeAudio{.mono = true});
  ASSERT_TRUE(clip.ok()) << clip.error().text();
  EXPECT_EQ(clip->sample_rate, 8000);
  EXPECT_THAT(clip->samples.as<const float>(), testing::ElementsAre(0.5F, -0.5F));
  const auto cut = decode_audio(std::as_bytes(std::span{half_wave}).first(47));
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code(), Code::data);
}

TEST(AudioFunctions, FramesAreThoseThatFit) {
  const std::vector<float> samples(1024);
  EXPECT_EQ(log_mel(samples)->shape, (Shape{3, 128}));
  EXPECT_EQ(log_mel({}, LogMel{})->shape, (Shape{0, 128}));
  EXPECT_EQ(mfcc(samples, *parse_json(R"({"center": false})"))->shape, (Shape{0, 20}));
}

TEST(AudioFunctions, HostileOptionsAreRefused) {
  EXPECT_THAT(refused(R"({"n_fft": 3})"), HasSubstr("must be even"));
  EXPECT_THAT(refused(R"({"n_fft": 2097152})"), HasSubstr("n_fft"));
  EXPECT_THAT(refused(R"({"n_fft": 1048574})"), HasSubstr("has a prime factor above 61"));
  EXPECT_THAT(refused(R"({"hop_length": 0})"), HasSubstr("hop_length"));
  EXPECT_THAT(refused(R"({"win_length": 4096})"), HasSubstr("must be from 1 to n_fft, 2048"));
  EXPECT_THAT(refused(R"({"fmin": -1})"), HasSubstr("/fmin: must be from 0 to below 11025"));
  EXPECT_THAT(refused(R"({"fmax": 11026})"), HasSubstr("/fmax: must be above fmin"));
  EXPECT_THAT(refused(R"({"power": 3})"), HasSubstr("/power: must be 1 or 2"));
  EXPECT_THAT(refused(R"({"floor": 0})"), HasSubstr("/floor: must be from 1e-37"));
  EXPECT_THAT(refused(R"({"top_db": -1})"), HasSubstr("/top_db: must be from 0"));
  EXPECT_THAT(refused(R"({"n_mfcc": 129})"), HasSubstr("/n_mfcc: must be at most n_mels, 128"));
  EXPECT_THAT(refused(R"({"lifter": -1})"), HasSubstr("/lifter: must be from 0"));
  LogMel odd;
  odd.fmin = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(log_mel({}, odd).error().text(), HasSubstr("must be"));
}

}  // namespace
}  // namespace forebay
