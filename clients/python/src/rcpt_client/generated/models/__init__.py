"""Contains all the data models used in inputs/outputs"""

from .account import Account
from .change import Change
from .check_request import CheckRequest
from .confirmation import Confirmation
from .credentials import Credentials
from .day_of_usage import DayOfUsage
from .deletion import Deletion
from .delivery import Delivery
from .details import Details
from .document import Document
from .email_check_allowance import EmailCheckAllowance
from .enable import Enable
from .forgotten import Forgotten
from .health import Health
from .limit_detail import LimitDetail
from .limit_error import LimitError
from .login import Login
from .new_api_key import NewApiKey
from .new_scan_request import NewScanRequest
from .notification_settings import NotificationSettings
from .notifications import Notifications
from .part_request import PartRequest
from .password_and_code import PasswordAndCode
from .plain_error import PlainError
from .profile import Profile
from .quota_report import QuotaReport
from .readiness import Readiness
from .recovery_codes import RecoveryCodes
from .registration_result import RegistrationResult
from .reset import Reset
from .reset_mailed import ResetMailed
from .rotation import Rotation
from .scan import Scan
from .scan_allowance import ScanAllowance
from .scan_page import ScanPage
from .scan_result import ScanResult
from .scan_results import ScanResults
from .session_credentials import SessionCredentials
from .sessions import Sessions
from .set_up import SetUp
from .settings import Settings
from .signed_in import SignedIn
from .status_counts import StatusCounts
from .totp_set_up import TotpSetUp
from .usage import Usage
from .validation_detail import ValidationDetail
from .validation_error import ValidationError
from .validation_result import ValidationResult

__all__ = (
    "Account",
    "Change",
    "CheckRequest",
    "Confirmation",
    "Credentials",
    "DayOfUsage",
    "Deletion",
    "Delivery",
    "Details",
    "Document",
    "EmailCheckAllowance",
    "Enable",
    "Forgotten",
    "Health",
    "LimitDetail",
    "LimitError",
    "Login",
    "NewApiKey",
    "NewScanRequest",
    "NotificationSettings",
    "Notifications",
    "PartRequest",
    "PasswordAndCode",
    "PlainError",
    "Profile",
    "QuotaReport",
    "Readiness",
    "RecoveryCodes",
    "RegistrationResult",
    "Reset",
    "ResetMailed",
    "Rotation",
    "Scan",
    "ScanAllowance",
    "ScanPage",
    "ScanResult",
    "ScanResults",
    "SessionCredentials",
    "Sessions",
    "SetUp",
    "Settings",
    "SignedIn",
    "StatusCounts",
    "TotpSetUp",
    "Usage",
    "ValidationDetail",
    "ValidationError",
    "ValidationResult",
)
