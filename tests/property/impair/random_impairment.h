// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "core/time.h"
#include "emulator/direction.h"

namespace lw::test {

/// Random numbers from one seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  /// 0 to n - 1.
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> items) {
    return items.begin()[below(items.size())];
  }

 private:
  std::mt19937_64 random_;
};

/// Frames that come in together, in one direction.
struct Burst {
  Instant at;
  emulator::Direction direction;
  std::vector<std::vector<std::byte>> frames;
};

/// A profile and the frames to put through it.
struct Impairment {
  std::string profile;  // TOML
  bool both = true;     // else from west to east only
  std::size_t capacity = 4096;
  std::vector<Burst> bursts;  // in the order of time; no two at the same instant
};

/// Writes the files that drawn profiles name into `folder`.
void write_profile_files(const std::filesystem::path& folder);
/// Draws an impairment with any stage, option, event, live change and kind of frame.
Impairment draw_impairment(Draw& draw, const std::filesystem::path& folder);

}  // namespace lw::test
