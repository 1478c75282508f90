// SPDX-License-Identifier: BSD-3-Clause
// disk_load DEVICE read|write PAGES DEPTH COUNT
//
// Reads or writes COUNT blocks of PAGES * 4096 bytes of a device or file, one after the other from
// its begin and again, with direct I/O and DEPTH of them open at once. Runs in the guests of
// record_upper.py. Prints how many succeeded, failed, and the seconds; exit code 1 if one failed.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <memory>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t kPage = 4096, kMostPages = 256, kMostDepth = 1024;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "disk_load: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

std::size_t number(const char* text, std::size_t most) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno == 0 && end != text && *end == '\0' && value > 0 && value <= most) return value;
  std::fprintf(stderr, "disk_load: expected a number from 1 to %zu, found \"%s\"\n", most, text);
  std::exit(2);
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Pages = std::unique_ptr<char, Free>;

/// Blocks of a device, of which each has a place in memory of its own.
class Load {
 public:
  Load(int file, bool writes, std::size_t size, std::size_t depth)
      : file_(file), writes_(writes), size_(size), requests_(depth) {
    blocks_ = static_cast<std::uint64_t>(lseek(file, 0, SEEK_END)) / size;
    if (blocks_ == 0) fail("a device smaller than a block");
    memory_.reset(static_cast<char*>(std::aligned_alloc(kPage, size * depth)));
    if (!memory_) fail("memory");
    std::memset(memory_.get(), 'x', size * depth);
    if (syscall(SYS_io_setup, depth, &context_) != 0) fail("io_setup");
  }

  void run(std::size_t count) {
    left_ = count;
    for (std::size_t i = 0; i < requests_.size() && left_ > 0; ++i) submit(i);
    while (open_ > 0) reap();
  }
  [[nodiscard]] std::size_t succeeded() const { return succeeded_; }
  [[nodiscard]] std::size_t failed() const { return failed_; }

 private:
  void submit(std::size_t place) {
    iocb& request = requests_[place];
    request = {};
    request.aio_data = place;
    request.aio_lio_opcode = writes_ ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
    request.aio_fildes = static_cast<std::uint32_t>(file_);
    request.aio_buf = reinterpret_cast<std::uint64_t>(memory_.get() + place * size_);
    request.aio_nbytes = size_;
    request.aio_offset = static_cast<std::int64_t>(next_++ % blocks_ * size_);
    iocb* list[] = {&request};
    if (syscall(SYS_io_submit, context_, 1, list) != 1) fail("io_submit");
    --left_;
    ++open_;
  }
  void reap() {
    io_event events[64];
    const long got = syscall(SYS_io_getevents, context_, 1, 64, events, nullptr);
    if (got < 0) fail("io_getevents");
    for (long i = 0; i < got; ++i) {
      --open_;
      ++(events[i].res == static_cast<std::int64_t>(size_) ? succeeded_ : failed_);
      if (left_ > 0) submit(events[i].data);
    }
  }

  int file_;
  bool writes_;
  std::size_t size_;
  std::uint64_t blocks_ = 0, next_ = 0;
  Pages memory_;
  std::vector<iocb> requests_;
  aio_context_t context_ = 0;
  std::size_t left_ = 0, open_ = 0, succeeded_ = 0, failed_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: disk_load DEVICE read|write PAGES DEPTH COUNT\n");
    return 2;
  }
  const bool writes = std::strcmp(argv[2], "write") == 0;
  const int file = open(argv[1], (writes ? O_RDWR : O_RDONLY) | O_DIRECT);
  if (file < 0) fail(argv[1]);
  Load load(file, writes, number(argv[3], kMostPages) * kPage, number(argv[4], kMostDepth));
  const auto begin = std::chrono::steady_clock::now();
  load.run(number(argv[5], SIZE_MAX));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  std::printf("%zu done, %zu failed, %.3f s\n", load.succeeded(), load.failed(), taken.count());
  return load.failed() == 0 ? 0 : 1;
}
