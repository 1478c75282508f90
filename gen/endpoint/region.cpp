// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/region.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace lw::gen::endpoint {
namespace {

constexpr std::uint64_t kHugePage = 2u << 20;

std::unexpected<Error> refuse_file(const std::string& file) {
  return fail(fmt::format("--region: {}: {}", file, std::strerror(errno)), ExitCode::environment);
}

/// Maps `size` bytes. The file stays open as long as it is mapped.
Result<void*> map_file(const std::string& file, std::uint64_t size) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return refuse_file(file);
  struct stat info{};
  bool good = ::fstat(descriptor, &info) == 0;
  // Allocate the file's blocks now, so that a full disk is an error here and not a signal when the
  // peer writes.
  if (good && S_ISREG(info.st_mode))
    good = (errno = ::posix_fallocate(descriptor, 0, static_cast<off_t>(size))) == 0;
  void* at =
      good ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  if (at == MAP_FAILED) return refuse_file(file);
  return at;
}

Result<void*> map_memory(std::uint64_t size, bool huge) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0);
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (at != MAP_FAILED) return at;
  if (huge)
    return fail(fmt::format("--region: {} huge pages of 2 MiB are not free: `echo {} > "
                            "/proc/sys/vm/nr_hugepages`",
                            size / kHugePage, size / kHugePage),
                ExitCode::environment);
  return fail(fmt::format("--region: {} of memory: {}", format_bytes(static_cast<double>(size)),
                          std::strerror(errno)),
              ExitCode::environment);
}

}  // namespace

SlotLayout::SlotLayout(const SessionParams& params, std::size_t qps) noexcept
    : slots_(params.slots),
      stride_(params.size),
      grh_(params.transport == wire::Transport::ud ? 40 : 0),
      qps_(qps) {
  stride_ += grh_;
}

std::optional<std::uint64_t> SlotLayout::size() const noexcept {
  std::uint64_t all = 0;
  if (__builtin_mul_overflow(slots_ * stride_, qps_, &all)) return std::nullopt;
  return all;
}

Parsed<RegionSpec> parse_region(std::string_view text) {
  const std::string expected = fmt::format(
      "expected SIZE[,file=PATH][,hugepages], such as 64MiB,file=ring.bin, found \"{}\"", text);
  const std::size_t comma = text.find(',');
  const auto size = parse_bytes(text.substr(0, comma));
  if (!size) return std::unexpected(size.error());
  RegionSpec spec{.size = *size, .file = "", .huge_pages = false};
  if (spec.size == 0) return std::unexpected("expected more than 0 bytes");
  while (text.find(',') != std::string_view::npos) {
    text.remove_prefix(text.find(',') + 1);
    const std::string_view word = text.substr(0, text.find(','));
    if (word == "hugepages") {
      spec.huge_pages = true;
    } else if (word.starts_with("file=") && word.size() > 5) {
      spec.file = word.substr(5);
    } else {
      return std::unexpected(expected);
    }
  }
  if (spec.huge_pages && !spec.file.empty())
    return std::unexpected(
        "hugepages go with anonymous memory; a file on a hugetlbfs has them "
        "without it");
  return spec;
}

Result<Region> Region::map(const RegionSpec& spec) {
  Region region;
  region.size_ = spec.size;
  region.mapped_ =
      spec.huge_pages ? (spec.size + kHugePage - 1) / kHugePage * kHugePage : spec.size;
  region.file_ = spec.file;
  const auto at = spec.file.empty() ? map_memory(region.mapped_, spec.huge_pages)
                                    : map_file(spec.file, region.mapped_);
  if (!at) return std::unexpected(at.error());
  region.data_ = static_cast<std::byte*>(*at);
  return region;
}

Region::Region(Region&& other) noexcept { *this = std::move(other); }
Region& Region::operator=(Region&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  std::swap(file_, other.file_);
  return *this;
}
Region::~Region() {
  if (data_ != nullptr) ::munmap(data_, mapped_);
}

Result<void> Region::flush() const {
  if (file_.empty() || ::msync(data_, mapped_, MS_SYNC) == 0) return {};
  return refuse_file(file_);
}

}  // namespace lw::gen::endpoint
