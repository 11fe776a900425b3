// Carries the precompiled header that the tensor floors share (aten_pch.h).
