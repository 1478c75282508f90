// SPDX-License-Identifier: BSD-3-Clause
#include "gen/telemetry/record_writer.h"

namespace lw::gen {

using transport::Completion;
using transport::Status;

RecordWriter::RecordWriter(const Connected& connected, std::uint32_t immediate_every)
    : connection_(*connected.connection),
      layout_(connection_.qpn(), connected.params),
      remote_(connected.remote),
      size_(connected.params.size),
      immediate_every_(immediate_every) {
  connection_.run(*this);
}

std::span<std::byte> RecordWriter::place() noexcept {
  const transport::QueuePair& pair = connection_.pair();
  if (pair.requester().posted() >= pair.config().tx_depth || failed_ > 0) return {};
  return connection_.memory().bytes(layout_.outbox(posted_), size_);
}

void RecordWriter::post(Instant now) {
  const bool immediate = immediate_every_ > 0 && (posted_ + 1) % immediate_every_ == 0;
  connection_.post({.id = posted_,
                    .operation = wire::Operation::write,
                    .immediate = immediate,
                    .length = size_,
                    .word = static_cast<std::uint32_t>(posted_),
                    .local_va = layout_.outbox(posted_),
                    .remote_va = remote_.va + (layout_.inbox(posted_) - layout_.inbox()),
                    .r_key = remote_.r_key},
                   now);
  ++posted_;
}

void RecordWriter::on_completion(transport::QpSet& /*qps*/, std::uint32_t /*qp*/,
                                 const Completion& done, Instant /*now*/) {
  if (done.arrival) return;
  if (done.status == Status::success) {
    ++completed_;
    return;
  }
  if (failed_++ == 0) failure_ = done.status;
}

}  // namespace lw::gen
