// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/extraction/data_image.h"
#include "dissect/extract/sparse_folder.h"

namespace lw::dissect {

/// A file of an image: it holds the bytes from position `first` to `last`, from offset 0 on.
struct DataFile {
  std::string name;  // in the folder
  std::uint32_t image = 0;
  std::uint64_t first = 0, last = 0;
};

/// Writes images to files: a stream to one file, memory to one file for each part that spans at
/// most kMostSpan, as addresses of one R_Key may be anywhere.
class DataFiles final : public analysis::DataSink {
 public:
  static constexpr std::uint64_t kMostSpan = std::uint64_t{1} << 32;  // bytes

  DataFiles(SparseFolder& folder, std::size_t most_files)
      : folder_(folder), most_files_(most_files) {}

  /// Called with each message.
  std::function<void(const analysis::DataMessage&)> on_message;

  /// Sets the images that are written. Call it before the first place().
  void bind(const std::deque<analysis::DataImage>& images) noexcept { images_ = &images; }

  bool place(std::uint32_t image, std::uint64_t position,
             std::span<const std::byte> bytes) override;
  void completed(const analysis::DataMessage& message) override {
    if (on_message) on_message(message);
  }
  /// Closes and names all files, and returns them in the order of the images and positions. They
  /// have all of their bytes, unless the folder has failed.
  std::vector<DataFile> finish();

 private:
  /// A file that is being written: it begins at `base`, which may be before its first byte.
  struct Piece {
    SparseFolder::FileId file = 0;
    std::uint64_t base = 0, last = 0;
  };
  using Pieces = std::map<std::uint64_t, Piece>;  // by the position of the first byte

  bool place_some(std::uint32_t image, std::uint64_t position, std::span<const std::byte>& bytes);
  Pieces::iterator extend_down(std::uint32_t image, Pieces& pieces, Pieces::iterator piece,
                               std::uint64_t position);
  void move(std::uint32_t image, std::uint64_t first, Piece& piece, std::uint64_t base);
  [[nodiscard]] std::string name_of(std::uint32_t image, std::uint64_t first) const;

  SparseFolder& folder_;
  std::size_t most_files_, count_ = 0;
  const std::deque<analysis::DataImage>* images_ = nullptr;
  std::unordered_map<std::uint32_t, Pieces> pieces_;  // by image
};

}  // namespace lw::dissect
