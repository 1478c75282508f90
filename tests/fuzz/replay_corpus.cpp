// SPDX-License-Identifier: BSD-3-Clause
// Stands in for libFuzzer's main: runs a target over its corpus (seeds, and every crash ever
// found) and over each seed cut at every length (or every CUT_EVERY), as a plain test for any
// compiler.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// An allocation of just this length, so that a sanitizer sees one byte too far.
void run(const std::vector<std::uint8_t>& input, std::size_t length) {
  const std::vector<std::uint8_t> exact(input.begin(),
                                        input.begin() + static_cast<std::ptrdiff_t>(length));
  EXPECT_EQ(LLVMFuzzerTestOneInput(exact.data(), exact.size()), 0);
}

TEST(Corpus, ReplaysWholeAndCutAtEveryLength) {
  int seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CORPUS)) {
    const auto input = read_file(entry.path());
    constexpr std::size_t kCuts = 2048;
    for (std::size_t length = 0; length < std::min(input.size(), kCuts); length += CUT_EVERY) {
      run(input, length);
    }
    run(input, input.size());
    ++seeds;
  }
  EXPECT_GT(seeds, 0) << "no corpus in " << CORPUS;
}

TEST(Corpus, TakesRandomBytes) {
  std::uint32_t state = 12345;
  for (int round = 0; round < 2000; round += CUT_EVERY) {
    std::vector<std::uint8_t> input(state % 300);
    for (auto& byte : input) {
      state = state * 1664525u + 1013904223u;
      byte = static_cast<std::uint8_t>(state >> 24);
    }
    state = state * 1664525u + 1013904223u;
    run(input, input.size());
  }
}

}  // namespace
