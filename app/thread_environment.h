#pragma once

namespace kvscope {

/// Starts this program once more with GOMP_SPINCOUNT set, unless it, or OMP_WAIT_POLICY, is set
/// already.
///
/// LibTorch's worker threads (libgomp) otherwise spin for milliseconds at every barrier; where
/// another program wants a core too, a decode step then takes many times longer and the window's
/// own thread comes late. libgomp reads the variable when it is loaded, so setting it inside the
/// process is too late. Call first in main(). \param argv  as given to main
void settleThreadEnvironment(char** argv);

} // namespace kvscope
