#pragma once

namespace kvscope {

/// Makes every ChatView a list of messages to assistive technology, each with its speaker and text.
/// Called by ChatView; more than once is harmless.
void installChatAccessibility();

} // namespace kvscope
