// SPDX-License-Identifier: BSD-3-Clause
#include "wire/cm.h"

namespace lw::wire {

std::string_view name_of(CmMessage message) noexcept {
  switch (message) {
    case CmMessage::req:
      return "ConnectRequest";
    case CmMessage::mra:
      return "MsgRcptAck";
    case CmMessage::rej:
      return "ConnectReject";
    case CmMessage::rep:
      return "ConnectReply";
    case CmMessage::rtu:
      return "ReadyToUse";
    case CmMessage::dreq:
      return "DisconnectRequest";
    case CmMessage::drep:
      return "DisconnectReply";
    case CmMessage::sidr_req:
      return "ServiceIDResReq";
    case CmMessage::sidr_rep:
      return "ServiceIDResReqResp";
    case CmMessage::lap:
      return "LoadAlternatePath";
    case CmMessage::apr:
      return "AlternatePathResponse";
  }
  return {};
}

}  // namespace lw::wire
