"""How a person works a page: by mouse, by keyboard alone, or without script."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

MOST_TABS = 120


class Mouse:
    """Clicks. ``page`` may be another tab of the same person."""

    script = True

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, what: Locator) -> None:
        what.click()

    def choose(self, what: Locator, option: str) -> None:
        what.select_option(option)

    def tick(self, what: Locator) -> None:
        what.check()

    def slide(self, what: Locator, value: int) -> None:
        what.fill(str(value))

    def write(self, what: Locator, text: str) -> None:
        what.fill(text)

    def give(self, what: Locator, path: Path) -> None:
        what.set_input_files(path)

    def until(self, what: Callable[[], None]) -> None:
        """The page comes to show it by itself."""
        what()


class WithoutScript(Mouse):
    script = False

    def press(self, what: Locator) -> None:
        """What leads to another page is waited for: a reload in the midst of its request would end that request."""
        if what.evaluate("element => element.matches('a[href]') || (element.form && element.type === 'submit')"):
            with what.page.expect_navigation():
                what.click()
        else:
            what.click()

    def until(self, what: Callable[[], None]) -> None:
        """The page shows it when it is loaded again."""
        self.page.reload()
        what()


class Keyboard(Mouse):
    """Tab goes to each control, where it must be seen to be; then the keys that such a control takes."""

    def to(self, what: Locator) -> None:
        expect(what).to_be_visible()
        for _ in range(MOST_TABS):
            if what.evaluate("element => element === document.activeElement"):
                assert what.evaluate("element => element.matches(':focus-visible')"), f"focus is not seen on {what}"
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {what}")

    def press(self, what: Locator) -> None:
        self.to(what)
        self.page.keyboard.press("Enter")

    def choose(self, what: Locator, option: str) -> None:
        self.to(what)
        wanted = what.locator(f'option[value="{option}"]').evaluate("option => option.index")
        while (at := what.evaluate("select => select.selectedIndex")) != wanted:
            self.page.keyboard.press("ArrowDown" if at < wanted else "ArrowUp")
            assert what.evaluate("select => select.selectedIndex") != at, f"arrows do not move {what}"

    def tick(self, what: Locator) -> None:
        """A box by the space bar; of radio buttons Tab reaches the chosen one, and arrows choose the next."""
        if what.get_attribute("type") == "radio":
            group = self.page.locator(f'input[type="radio"][name="{what.get_attribute("name")}"]')
            self.to(group.and_(self.page.locator(":checked")))
            for _ in range(group.count()):
                if what.is_checked():
                    return
                self.page.keyboard.press("ArrowDown")
        else:
            self.to(what)
            self.page.keyboard.press("Space")
        expect(what).to_be_checked()

    def slide(self, what: Locator, value: int) -> None:
        self.to(what)
        while (at := int(what.input_value())) != value:
            self.page.keyboard.press("ArrowRight" if at < value else "ArrowLeft")
            assert int(what.input_value()) != at, f"arrows do not move {what}"

    def write(self, what: Locator, text: str) -> None:
        self.to(what)
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.type(text)

    def give(self, what: Locator, path: Path) -> None:
        with (
            self.page.expect_file_chooser() as asked
        ):  # from before the way there: it takes the browser a moment to tell
            self.to(what)
            self.page.keyboard.press("Enter")
        asked.value.set_files(path)


WAYS = {"mouse": Mouse, "keyboard": Keyboard, "no script": WithoutScript}
