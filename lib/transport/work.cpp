// SPDX-License-Identifier: BSD-3-Clause
#include "transport/work.h"

namespace lw::transport {

std::string_view name_of(Status status) noexcept {
  switch (status) {
    case Status::success:
      return "success";
    case Status::retry_exceeded:
      return "retry exceeded";
    case Status::rnr_retry_exceeded:
      return "RNR retry exceeded";
    case Status::remote_invalid_request:
      return "remote invalid request";
    case Status::remote_access_error:
      return "remote access error";
    case Status::remote_operational_error:
      return "remote operational error";
    case Status::flushed:
      return "flushed";
  }
  return "";
}

}  // namespace lw::transport
