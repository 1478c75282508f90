// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace lw::gen {

/// What ranks need of Open MPI. It is a module of its own, so that the programs do not depend on
/// Open MPI: ranks.cpp loads it where mpirun started the process. Main thread only. Errors end all
/// ranks with a message of MPI.
struct MpiModule {
  void (*join)(int& rank, int& size);
  /// Waits until all ranks have reached this point.
  void (*leave)();
  void (*send)(int to, int kind, const std::string& text);
  /// Takes the next message; false if none has arrived.
  bool (*poll)(int& from, int& kind, std::string& text);
};

/// The module's only symbol.
extern "C" const MpiModule* longwire_mpi_module();
inline constexpr const char* kMpiModuleSymbol = "longwire_mpi_module";
inline constexpr const char* kMpiModuleFile = "longwire-mpi.so";

}  // namespace lw::gen
