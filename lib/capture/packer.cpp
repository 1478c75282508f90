// SPDX-License-Identifier: BSD-3-Clause
#include "capture/packer.h"

#include <new>
#include <vector>
#include <zstd.h>

namespace lw::capture {

struct Packer::State {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::vector<char> block = std::vector<char>(ZSTD_CStreamOutSize());

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { ZSTD_freeCCtx(context); }

  /// One call of the compressor. Returns what it says: how much is left to flush.
  std::size_t step(ZSTD_inBuffer& in, ZSTD_EndDirective what, std::string& out) {
    ZSTD_outBuffer to{block.data(), block.size(), 0};
    const std::size_t left = ZSTD_compressStream2(context, &to, &in, what);
    // The parameters are valid and the bytes are there: memory is all that can be lacking.
    if (ZSTD_isError(left)) throw std::bad_alloc();
    out.append(block.data(), to.pos);
    return left;
  }
  void finish(ZSTD_EndDirective what, std::string& out) {
    ZSTD_inBuffer nothing{nullptr, 0, 0};
    while (step(nothing, what, out) > 0) {
    }
  }
};

Packer::Packer() : state_(std::make_unique<State>()) {
  if (state_->context == nullptr) throw std::bad_alloc();
  // The fastest level: a recording must keep up with the traffic.
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_checksumFlag, 1);
  // A libzstd without threads refuses this, and compresses in the caller's thread.
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_nbWorkers, 1);
}

Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;
Packer::~Packer() = default;

void Packer::put(Bytes in, std::string& out) {
  ZSTD_inBuffer from{in.data(), in.size(), 0};
  while (from.pos < from.size) state_->step(from, ZSTD_e_continue, out);
}

void Packer::flush(std::string& out) { state_->finish(ZSTD_e_flush, out); }

void Packer::end(std::string& out) { state_->finish(ZSTD_e_end, out); }

}  // namespace lw::capture
