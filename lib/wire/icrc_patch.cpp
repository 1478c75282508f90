// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icrc_patch.h"

namespace lw::wire {
namespace {

// Polynomials over GF(2) modulo Ethernet's, reflected: bit 31 is x^0.
constexpr std::uint32_t kPolynomial = 0xedb88320;
constexpr std::uint32_t kOne = 0x80000000;

constexpr std::uint32_t times_x(std::uint32_t p) noexcept {
  return p >> 1 ^ (p & 1 ? kPolynomial : 0);
}

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1, b = times_x(b)) {
    if (a & bit) product ^= b;
  }
  return product;
}

/// kPowers[k] = x^(8 * 2^k): a run of 2^k zero bytes.
constexpr auto kPowers = [] {
  std::array<std::uint32_t, 32> powers{};
  std::uint32_t p = kOne;
  for (int i = 0; i < 8; ++i) p = times_x(p);
  for (auto& power : powers) {
    power = p;
    p = multiply(p, p);
  }
  return powers;
}();

/// x^(8 * bytes).
std::uint32_t zero_bytes(std::size_t bytes) noexcept {
  std::uint32_t p = kOne;
  for (std::size_t k = 0; bytes != 0; ++k, bytes >>= 1) {
    if (bytes & 1) p = multiply(p, kPowers[k & 31]);
  }
  return p;
}

/// A byte enters the register at its low end and is shifted eight times.
std::uint32_t change_under(std::uint8_t change, std::uint32_t shift) noexcept {
  return multiply(multiply(change, kPowers[0]), shift);
}

}  // namespace

std::uint32_t icrc_change(std::uint8_t change, std::size_t distance) noexcept {
  return change_under(change, zero_bytes(distance));
}

IcrcFieldPatch::IcrcFieldPatch(std::size_t width, std::size_t distance) {
  for (std::size_t i = 0; i < width; ++i) {
    const std::uint32_t shift = zero_bytes(distance + i);
    for (std::uint32_t value = 0; value < 256; ++value) {
      tables_[i][value] = change_under(static_cast<std::uint8_t>(value), shift);
    }
  }
  std::uint64_t change = 0;
  for (std::size_t bits = 1; bits <= 8 * width; ++bits) {
    change = change << 1 | 1;
    increments_[bits] = (*this)(change);
  }
}

}  // namespace lw::wire
