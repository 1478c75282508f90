// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/extract/data_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "dissect/sessions/capture_analysis.h"

namespace lw::dissect {

using analysis::DataImage;
using analysis::DataKind;

bool DataFiles::place(std::uint32_t image, std::uint64_t position,
                      std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t before = bytes.size();
    if (!place_some(image, position, bytes)) return false;
    position += before - bytes.size();
  }
  return true;
}

/// Writes the first of `bytes`, as many as belong to one file, and removes them from `bytes`.
bool DataFiles::place_some(std::uint32_t image, std::uint64_t position,
                           std::span<const std::byte>& bytes) {
  const bool stream = (*images_)[image].kind != DataKind::memory;
  Pieces& pieces = pieces_[image];
  auto behind = stream ? pieces.end() : pieces.upper_bound(position);
  std::uint64_t length = bytes.size();
  if (behind != pieces.end()) length = std::min(length, behind->first - position);
  auto piece = pieces.end();
  if (behind != pieces.begin() && (stream || position - std::prev(behind)->first < kMostSpan))
    piece = std::prev(behind);
  if (piece != pieces.end() && !stream) {
    length = std::min(length, kMostSpan - (position - piece->first));
  } else if (piece == pieces.end() && behind != pieces.end() &&
             behind->second.last - position < kMostSpan) {
    piece = extend_down(image, pieces, behind, position);
  } else if (piece == pieces.end()) {
    if (count_ >= most_files_) return false;
    ++count_;
    const std::uint64_t base = stream ? 0 : position;
    piece = pieces.emplace(base, Piece{folder_.create(), base, position}).first;
  }
  const auto some = bytes.first(static_cast<std::size_t>(length));
  folder_.write(piece->second.file, position - piece->second.base, some);
  piece->second.last = std::max(piece->second.last, position + (length - 1));
  bytes = bytes.subspan(some.size());
  return true;
}

/// Makes room below a file's first byte: as much as the file then spans, so that a region that is
/// written from its end is not copied for every packet.
DataFiles::Pieces::iterator DataFiles::extend_down(std::uint32_t image, Pieces& pieces,
                                                   Pieces::iterator piece, std::uint64_t position) {
  Piece moved = piece->second;
  if (position < moved.base) {
    const std::uint64_t span = moved.last - position;
    const std::uint64_t more = std::min({span, position, kMostSpan - 1 - span});
    move(image, piece->first, moved, position - more);
  }
  pieces.erase(piece);
  return pieces.emplace(position, moved).first;
}

void DataFiles::move(std::uint32_t image, std::uint64_t first, Piece& piece, std::uint64_t base) {
  const SparseFolder::FileId target = folder_.create();
  const auto& written = (*images_)[image].written.parts();
  auto part = written.upper_bound(first);
  if (part != written.begin()) --part;
  for (; part != written.end() && part->first <= piece.last; ++part) {
    const std::uint64_t from = std::max(part->first, first);
    const std::uint64_t last = std::min(part->second.last, piece.last);
    if (from > last) continue;
    folder_.copy(piece.file, from - piece.base, target, from - base, last - from + 1);
  }
  folder_.remove(piece.file);
  piece.file = target;
  piece.base = base;
}

std::string DataFiles::name_of(std::uint32_t index, std::uint64_t first) const {
  const DataImage& image = (*images_)[index];
  if (image.kind != DataKind::memory)
    return fmt::format("{}-connection{}-direction{}.bin", analysis::name_of(image.kind),
                       image.session, image.direction);
  std::string host = address_text(image.host);
  std::ranges::replace(host, ':', '_');
  const std::string point = image.point == 0 ? "" : fmt::format("-point{}", image.point);
  return fmt::format("memory-{}-rkey{:#010x}-va{:#018x}{}.bin", host, image.r_key, first, point);
}

std::vector<DataFile> DataFiles::finish() {
  std::vector<DataFile> files;
  for (std::uint32_t image = 0; image < images_->size(); ++image) {
    const auto pieces = pieces_.find(image);
    if (pieces == pieces_.end()) continue;
    for (auto& [first, piece] : pieces->second) {
      if (piece.base < first) move(image, first, piece, first);
      files.push_back({name_of(image, first), image, first, piece.last});
      folder_.publish(piece.file, files.back().name);
    }
  }
  return files;
}

}  // namespace lw::dissect
