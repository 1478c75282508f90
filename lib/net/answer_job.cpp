// SPDX-License-Identifier: BSD-3-Clause
#include "net/answer_job.h"

#include <cerrno>
#include <exception>
#include <sys/eventfd.h>
#include <system_error>

namespace lw::net {

Wake::Wake() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_.descriptor() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void Wake::signal() const noexcept { eventfd_write(event_.descriptor(), 1); }

void Wake::clear() const noexcept {
  eventfd_t count = 0;
  eventfd_read(event_.descriptor(), &count);
}

void AnswerJob::run() noexcept {
  try {
    answer_ = request_ ? protocol_.answer(request_->text, request_->peer)
                       : Protocol::Answer{.text = protocol_.event(), .is_stream = true};
  } catch (const std::exception&) {
    answer_ = {};  // such as too little memory: the connection ends
  }
  done_.store(true, std::memory_order_release);
  wake_.signal();
}

}  // namespace lw::net
