"""Logging in, with a lock on guessing.

Failures count for a quarter of an hour: per account and address together, per address, and per account. The last one is
high, for whoever wants to lock an account out must not find it easy either. While a lock holds, no password is looked at.
A try counts as a failure from before its password is looked at until that was right: of many at once no more get through.
"""

import logging
import unicodedata
from typing import Any

from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import views as auth
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from osii.ops import audit
from osii.ops.limits import limits
from osii.ops.requests import address_of

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 15 * 60
PER_ADDRESS, PER_ACCOUNT = 6, 20
"""How many times as many failures an address, and an account from anywhere, may have."""


class LoginForm(AdminAuthenticationForm):
    def confirm_login_allowed(self, user: AbstractBaseUser) -> None:
        """Whoever gave the right password is told what the account lacks."""
        if user.is_active and not getattr(user, "is_staff", False):
            raise ValidationError(
                "This account has no staff status: a superuser gives it one in the admin, under Users."
            )
        super().confirm_login_allowed(user)


class LoginView(auth.LoginView):
    """The one form for dashboard and admin. A lock answers 429 with Retry-After, on the same page."""

    template_name = "account/login.html"
    authentication_form = LoginForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        wait = limits.admit(self._counters(), WINDOW_SECONDS) if settings.OSII_LOGIN_ATTEMPTS else 0
        if not wait:
            return super().post(request, *args, **kwargs)
        minutes = -(-wait // 60)
        # Not the name: people type a password there.
        logger.warning("Logins from %s wait for %d s after too many failures", address_of(request), wait)
        form = LoginForm(request, initial={"username": request.POST.get("username", "")})
        response = self.render_to_response(self.get_context_data(form=form, locked_minutes=minutes), status=429)
        response.headers["Retry-After"] = str(wait)
        return response

    def form_valid(self, form: LoginForm) -> HttpResponse:
        if settings.OSII_LOGIN_ATTEMPTS:
            own, *others = [(kind, key) for kind, key, _most in self._counters()]
            limits.clear(*own)
            for kind, key in others:
                limits.give_back(kind, key)
        response = super().form_valid(form)
        audit.record(self.request, response.status_code, {})
        return response

    def _counters(self) -> list[tuple[str, str, int]]:
        """(kind, key, most failures)"""
        # As the form reads it: one account has very many spellings (full width, ligatures) that it takes for one.
        name = unicodedata.normalize("NFKC", self.request.POST.get("username", "")).strip().casefold()[:150]
        address, most = address_of(self.request), settings.OSII_LOGIN_ATTEMPTS
        return [
            ("login", f"{name}\n{address}", most),
            ("login-address", address, PER_ADDRESS * most),
            ("login-account", name, PER_ACCOUNT * most),
        ]


class LogoutView(auth.LogoutView):
    """Logging out, on record like logging in."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            audit.record(request, 302, {})
        return super().post(request, *args, **kwargs)
