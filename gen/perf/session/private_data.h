// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/figure.h"
#include "core/quantity.h"
#include "wire/view.h"

/// The private data that our own endpoints exchange in connection management messages: a magic
/// number, a version and a kind, then the rows of a struct one after another, in network byte
/// order: a number in the size that it has in memory, a truth value and the index of a choice in
/// one byte.
namespace lw::gen {

/// Size of a ConnectRequest's private data after the addresses (RDMA IP CM service, IBTA annex
/// A11). Other messages have at least this size.
using PrivateData = std::array<std::byte, 56>;

/// What the rows are: of perf's sessions, their memory and counters, or of roce-gen otg's QPs.
enum class PrivateKind : std::uint8_t { params = 1, memory = 2, stats = 3, otg_qp = 4 };

inline constexpr std::size_t kPrivateHead = 6;  // bytes: magic 4, version 1, kind 1

/// Returns true if private data can hold these rows: truth values, choices and unsigned numbers,
/// for which there is room.
constexpr bool fits(std::span<const Figure> rows) noexcept {
  using Shape = FigureType::Shape;
  std::size_t bytes = kPrivateHead;
  for (const Figure& row : rows) {
    const Shape shape = row.type->shape;
    if (shape != Shape::natural && shape != Shape::truth && row.choices.empty()) return false;
    bytes += shape == Shape::natural ? row.type->bytes : 1;
  }
  return bytes <= std::tuple_size_v<PrivateData>;
}

/// Requires rows that fit, and their struct.
PrivateData pack(PrivateKind kind, std::span<const Figure> rows, const void* object) noexcept;

/// Sets the struct. Errors: other data, or of another version, which is named; a value outside the
/// bounds of its row. The struct is then set in part.
Parsed<void> unpack(wire::Bytes data, PrivateKind kind, std::span<const Figure> rows, void* object);

}  // namespace lw::gen
